/**
 * How much each constant of the fair clock matters: the random worlds with half of it, and with twice as much. A constant
 * that can be halved and doubled without effect is one to do without.
 *
 *     pnpm worlds:sensitivity [--seeds 1-60] [--only part-of-a-name]
 */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, readFile, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { fileURLToPath } from 'node:url'
import { parseArgs } from 'node:util'
import { markdown } from '../figures/markdown.js'
import type { Summary } from './trial.js'
import { bundleVariant, type Change, constantsOf, sourceOf } from './variant.js'

const FILES = ['fair-clock', 'looks', 'slope', 'traffic', 'own-failures', 'known-flows', 'tags', 'talkers']
const WORLDS = fileURLToPath(new URL('./main.js', import.meta.url))
/** Beside the lab's modules: what is not bundled is found from there. */
const folder = await mkdtemp(fileURLToPath(new URL('../variant-', import.meta.url)))

const { values } = parseArgs({
  options: { seeds: { type: 'string', default: '1-60' }, only: { type: 'string', default: '' } },
})

/** The worlds in a process of their own, with these constants. */
async function summaryWith(...changes: readonly Change[]): Promise<Summary> {
  const program = join(folder, 'worlds.mjs')
  await bundleVariant(WORLDS, changes, program)
  const args = [program, '--seeds', values.seeds, '--rules', 'fair-clock', '--json']
  const child = spawn(process.execPath, args, { stdio: ['ignore', 'pipe', 'inherit'] })
  const [out, [code]] = await Promise.all([text(child.stdout), once(child, 'exit')])
  if (code !== 0) throw new Error(`worlds with ${JSON.stringify(changes)} exited with ${code}`)
  return (JSON.parse(out) as Record<string, Summary>)['fair-clock']!
}

const told = ({ harm, harm95, good, failed }: Summary): string =>
  [100 * harm, 100 * harm95, 100 * good, 100 * failed].map((x) => x.toFixed(1)).join(' / ')

const rows = [['as it is', '', told(await summaryWith()), '']]
for (const name of FILES) {
  const file = `fair/clock/${name}`
  for (const [constant, value] of constantsOf(await readFile(sourceOf(file), 'utf8'))) {
    if (!constant.includes(values.only)) continue
    const [half, double] = [
      await summaryWith({ file, name: constant, value: value / 2 }),
      await summaryWith({ file, name: constant, value: value * 2 }),
    ]
    rows.push([`\`${constant}\``, String(value), told(half), told(double)])
    console.error(rows.at(-1)!.join(' | '))
  }
}
await rm(folder, { recursive: true })
const head = ['constant', 'value', 'half: harm / 95 % / good / failed, in %', 'double']
console.log(markdown({ id: 'sensitivity', title: '', head, rows }))
