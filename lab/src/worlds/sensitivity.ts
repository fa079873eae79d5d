/**
 * How much each constant of the fair clock matters: the random worlds with half of it, and with twice as much. A constant
 * that can be halved and doubled without effect is one to do without.
 *
 *     pnpm worlds:sensitivity [--seeds 1-60] [--only part-of-a-name]
 */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { basename, dirname, join } from 'node:path'
import { text } from 'node:stream/consumers'
import { parseArgs } from 'node:util'
import { markdown } from '../figures/markdown.js'
import { type Change, constantsOf } from './constant-hook.js'
import type { Summary } from './trial.js'

const FOLDER = join(dirname(createRequire(import.meta.url).resolve('@fairlead/core')), 'fair/clock')
const FILES = ['fair-clock', 'looks', 'slope', 'traffic', 'own-failures', 'known-flows', 'tags', 'talkers']

const { values } = parseArgs({
  options: { seeds: { type: 'string', default: '1-60' }, only: { type: 'string', default: '' } },
})

/** The worlds in a process of their own, with one constant changed if told. */
async function summaryWith(change?: Change): Promise<Summary> {
  const hook = new URL('./constant-hook.js', import.meta.url).href
  const register = `import { register } from 'node:module'; register('${hook}', { data: ${JSON.stringify(change)} })`
  const execArgv = change === undefined ? [] : ['--import', `data:text/javascript,${encodeURIComponent(register)}`]
  const main = new URL('./main.js', import.meta.url).pathname
  const child = spawn(
    process.execPath,
    [...execArgv, main, '--seeds', values.seeds, '--rules', 'fair-clock', '--json'],
    {
      stdio: ['ignore', 'pipe', 'inherit'],
    },
  )
  const [out, [code]] = await Promise.all([text(child.stdout), once(child, 'exit')])
  if (code !== 0) throw new Error(`worlds with ${JSON.stringify(change)} exited with ${code}`)
  return (JSON.parse(out) as Record<string, Summary>)['fair-clock']!
}

const told = ({ harm, harm95, good, failed }: Summary): string =>
  [100 * harm, 100 * harm95, 100 * good, 100 * failed].map((x) => x.toFixed(1)).join(' / ')

const rows = [['as it is', '', told(await summaryWith()), '']]
for (const name of FILES) {
  const file = `fair/clock/${name}.js`
  for (const [constant, value] of constantsOf(readFileSync(join(FOLDER, basename(file)), 'utf8'))) {
    if (!constant.includes(values.only)) continue
    const [half, double] = [
      await summaryWith({ file, name: constant, value: value / 2 }),
      await summaryWith({ file, name: constant, value: value * 2 }),
    ]
    rows.push([`\`${constant}\``, String(value), told(half), told(double)])
    console.error(rows.at(-1)!.join(' | '))
  }
}
const head = ['constant', 'value', 'half: harm / 95 % / good / failed, in %', 'double']
console.log(markdown({ id: 'sensitivity', title: '', head, rows }))
