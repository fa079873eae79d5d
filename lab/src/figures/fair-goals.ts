import { meanOf, type RuleName, type Study } from '../fair/study.js'
import type { Aim } from './aims.js'
import type { Table } from './figure.js'

type Key = Parameters<typeof meanOf>[1]

/** Published figures, and our goals. */
interface Line {
  readonly what: string
  readonly scenario: string
  readonly key: Key
  /** Of the published library: with its defaults, and with the best of its own sweep. */
  readonly published?: readonly [none: number, defaults: number, best?: number]
  readonly least?: number
  readonly most?: number
}

/** The published means of 10 seeds. (The library's own seeds print 0.667 where the mean is 0.665.) */
const LINES: readonly Line[] = [
  { what: 'api: Jain', scenario: 'api', key: 'jain', published: [0.218, 0.665, 0.85], least: 0.985 },
  { what: 'api: windowed Jain', scenario: 'api', key: 'windowed', published: [0.272, 0.806, 0.937], least: 0.995 },
  { what: 'api: utilisation', scenario: 'api', key: 'utilisation', published: [1, 1, 0.988], least: 0.99 },
  { what: 'api: well-behaved, mean', scenario: 'api', key: 'goodMean', published: [0.35, 0.75, 0.86], least: 0.955 },
  { what: 'api: well-behaved, worst', scenario: 'api', key: 'goodWorst', published: [0.25, 0.58, 0.66], least: 0.9 },
  { what: 'flash: Jain', scenario: 'flash', key: 'jain', published: [0.986, 0.977, 0.982], least: 0.995 },
  { what: 'flash: utilisation', scenario: 'flash', key: 'utilisation', published: [1, 1, 1], least: 0.99 },
  { what: 'flash: failures of admitted', scenario: 'flash', key: 'failures', most: 0.05 },
  { what: 'batch: windowed Jain', scenario: 'batch', key: 'windowed', published: [0.456, 0.908, 0.956], least: 0.995 },
  { what: 'batch: interactive, mean', scenario: 'batch', key: 'goodMean', least: 0.98 },
  { what: 'noisy: well-behaved, mean', scenario: 'noisy', key: 'goodMean', published: [0.62, 0.91], least: 0.97 },
  { what: 'noisy: well-behaved, worst', scenario: 'noisy', key: 'goodWorst', published: [0.57, 0.8], least: 0.94 },
  { what: 'noisy: utilisation', scenario: 'noisy', key: 'utilisation', published: [1, 0.93], least: 0.98 },
]

/** The fair clock beside the published figures, and our goals for it. */
export function fairAims(studies: ReadonlyMap<string, Study>): Aim[] {
  return LINES.map(({ what, scenario, key, published, least, most }) => ({
    what,
    published: published?.[1],
    ours: meanOf(studies.get(scenario)!.clock, key),
    goal: { ...(least !== undefined && { least }), ...(most !== undefined && { most }) },
    digits: 3,
  }))
}

/** Every rule in the shipped code, beside its published figures. */
export function fairTable(studies: ReadonlyMap<string, Study>): Table {
  return {
    id: 'rules',
    title:
      'Mean of the seeds; in brackets the published mean (with the one seed that it prints, the library gives api 0.667)',
    head: ['', 'no control', 'published rule', 'best of its sweep', 'fair clock'],
    rows: LINES.map(({ what, scenario, key, published }) => {
      const ours = (rule: RuleName): number => meanOf(studies.get(scenario)![rule], key)
      const beside = (value: number, figure: number | undefined): string =>
        figure === undefined ? digits(value) : `${digits(value)} (${digits(figure)})`
      return [
        what,
        beside(ours('none'), published?.[0]),
        beside(ours('published'), published?.[1]),
        published?.[2] === undefined ? '–' : `(${digits(published[2])})`,
        digits(ours('clock')),
      ]
    }),
  }
}

export function digits(value: number): string {
  return Number.isNaN(value) ? '–' : value.toFixed(3)
}
