import { readdirSync } from 'node:fs'
import { describe, expect, it } from 'vitest'
import { ROOT, textOf } from './repository.js'

const README = textOf('README.md').replaceAll(/\s+/g, ' ')
const json = (file: string) => JSON.parse(textOf(`docs/figures/${file}`))
const percent = (share: number): string => `${Math.round(100 * share)} %`

describe('the figures in the README', () => {
  it('of the demonstration are those of the recorded run', () => {
    const { without, with: guarded } = json('noisy-neighbour.json')
    const { quiet, heavy } = without
    expect(README).toContain(
      `Without Fairlead the quiet clients get ${percent(quiet.servedOfAsked)} of what they ask for and the heavy ones ` +
        percent(heavy.servedOfAsked),
    )
    expect(README).toContain(`With Fairlead the quiet clients get ${percent(guarded.quiet.servedOfAsked)},`)
    expect(README).toContain(`and ${percent(guarded.utilisation)} of the database stays in use`)
  })

  it('of time span what the adapters were measured to add, to a microsecond', () => {
    const [, least = '', most = ''] = /\*\*Time\*\*: (\d+) to (\d+) µs of CPU/.exec(README) ?? []
    const files = readdirSync(`${ROOT}docs/figures`).filter((name) => /^bench-http-(?!in-turn)/.test(name))
    const rows: string[][] = files.flatMap((file) => json(file).tables[0].rows)
    const added = rows.flatMap(([mode, , above]) => (mode === 'fairlead, default' ? Number(above) : []))
    expect(added.length).toBeGreaterThan(3)
    expect(Math.abs(Math.min(...added) - Number(least))).toBeLessThan(1)
    expect(Math.abs(Math.max(...added) - Number(most))).toBeLessThan(1)
  })

  it('of harm are those of the page about random worlds', () => {
    const [, mean = '', worst = ''] =
      /^\| 1 to 300[^|]*\| ([\d.]+) \|[^|]*\| ([\d.]+) \|/m.exec(textOf('docs/fair-worlds.md')) ?? []
    expect(README).toContain(`In 300 simulated services`)
    expect(README).toContain(`lost ${(100 * Number(mean)).toFixed(1)} % on average`)
    expect(README).toContain(`${percent(Number(worst))} in the worst service`)
  })
})

it.each(['packages/core/README.md', 'docs/stability.md'])('all entry points of the core are listed in %s', (page) => {
  const entries = Object.keys(JSON.parse(textOf('packages/core/package.json')).exports)
  const names = entries.flatMap((entry) => (/^\.\/[a-z]+$/.exec(entry)?.[0] ?? '').slice(1) || [])
  const own = ['/internal', '/mechanisms'] // of our packages
  expect(names).toContain('/queue')
  expect(names.filter((name) => !own.includes(name) && !textOf(page).includes(`${name}\``))).toEqual([])
})
