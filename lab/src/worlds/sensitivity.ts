/**
 * Effect of each constant of the fair clock: the random worlds with half of it, and with twice as much. A constant that
 * can be halved and doubled without effect should be removed. Writes the table to `docs`.
 *
 *     pnpm worlds:sensitivity [--seeds 1-60] [--only part-of-a-name]
 */
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { fileURLToPath, pathToFileURL } from 'node:url'
import { parseArgs } from 'node:util'
import { isMainThread, workerData } from 'node:worker_threads'
import { FOLDER } from '../figures/record.js'
import { saveQuotes } from '../figures/save.js'
import { simulate } from './engine.js'
import { FAMILY_LISTS } from './families.js'
import { judge, type Measures, yardstickOf } from './harm.js'
import { answerSeeds, tryInWorkers } from './in-workers.js'
import { RULES, type Rule } from './rules.js'
import { RULE_FILES, sensitivityTable, type Variant } from './sensitivity-table.js'
import { summaryOf } from './trial.js'
import { bundleVariant, constantsOf, sourceOf } from './variant.js'
import { worldOf } from './world.js'

const ENTRY = fileURLToPath(new URL('./rules.js', import.meta.url))

async function main(): Promise<void> {
  const { values } = parseArgs({
    options: { seeds: { type: 'string', default: '1-60' }, only: { type: 'string', default: '' } },
  })
  const [first, last] = values.seeds.split('-').map(Number) as [number, number]
  /** Beside the lab's modules: modules outside the bundle are resolved from there. */
  const folder = await mkdtemp(fileURLToPath(new URL('../variant-', import.meta.url)))
  try {
    const variants = await variantsIn(folder, values.only)
    const trials = await tryInWorkers(
      import.meta.url,
      variants.map(({ path }) => path),
      first,
      last,
    )
    const told = variants.map((variant) => ({ ...variant, summary: summaryOf(trials, variant.path) }))
    const table = sensitivityTable(told, [first, last])
    console.log(table.rows.map((row) => row.join(' | ')).join('\n'))
    if (values.only !== '') return
    await writeFile(`${FOLDER}fair-sensitivity.json`, `${JSON.stringify({ tables: [table] }, undefined, 1)}\n`)
    await saveQuotes()
  } finally {
    await rm(folder, { recursive: true })
  }
}

/** The rule unchanged, and with half and with twice each of its constants: bundled. */
async function variantsIn(folder: string, only: string): Promise<(Variant & { readonly path: string })[]> {
  const variants: (Variant & { readonly path: string })[] = [{ path: join(folder, 'rules.mjs') }]
  await bundleVariant(ENTRY, [], variants[0]!.path)
  for (const file of RULE_FILES)
    for (const [name, value] of constantsOf(await readFile(sourceOf(file), 'utf8')))
      for (const times of name.includes(only) ? [0.5, 2] : []) {
        const path = join(folder, `${variants.length}.mjs`)
        await bundleVariant(ENTRY, [{ file, name, value: value * times }], path)
        variants.push({ file, name, value, times, path })
      }
  return variants
}

async function work(paths: readonly string[]): Promise<void> {
  const rules = new Map<string, Rule>()
  for (const path of paths) {
    const bundle = (await import(pathToFileURL(path).href)) as { readonly RULES: typeof RULES }
    rules.set(path, bundle.RULES.get('fair-clock')!)
  }
  answerSeeds((seed) => {
    const world = worldOf(seed, FAMILY_LISTS.first)
    const yardstick = yardstickOf(world, simulate(world, RULES.get('none')!))
    const measures: Record<string, Measures> = {}
    for (const [path, rule] of rules) measures[path] = judge(yardstick, simulate(world, rule))
    return { seed, families: world.families, measures }
  })
}

if (isMainThread) await main()
else await work(workerData as readonly string[])
