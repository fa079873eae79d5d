import { readFileSync } from 'node:fs'
import { describe, expect, it } from 'vitest'
import { blue, tuneFair } from './blue.js'
import { FairTracker } from './tracker.js'

interface Row {
  in: [flows: number, bucketsPerLevel: number, tolerableFailures: number]
  L: number
  M: number
  Pi: number
  Pd: number
  Lambda: number
  rotation_ms: number
  accepted_by_structure: boolean
  structure_error?: string
  /** Set where the original's answer depends on the processor it runs on. */
  note?: string
}

const published: { rows: Row[] } = JSON.parse(readFileSync(new URL('./fixtures/tuning.json', import.meta.url), 'utf8'))
const asksOf = ({ in: [flows, bucketsPerLevel, tolerableFailures] }: Row): Parameters<typeof tuneFair> => [
  { flows, bucketsPerLevel, tolerableFailures },
]
const refused = (row: Row): boolean =>
  row.note !== undefined || (!row.accepted_by_structure && !row.structure_error?.startsWith('not tried'))

describe('tuneFair', () => {
  it.each(published.rows.filter((row) => !refused(row)))('agrees with the published tuner: $in', (row) => {
    expect(tuneFair(...asksOf(row))).toEqual({
      levels: row.L,
      bucketsPerLevel: row.M,
      failureIncrement: row.Pi,
      successDecrement: row.Pd,
      decayPerSecond: row.Lambda,
      rotateEveryMs: row.rotation_ms,
    })
  })

  it.each(published.rows.filter(refused))('refuses what the published structure could not use: $in', (row) => {
    expect(() => tuneFair(...asksOf(row))).toThrow(RangeError)
  })

  it('has the defaults of the tracker', () => {
    const tracker = new FairTracker(blue())
    expect(tracker.snapshot()).toMatchObject({ ...tuneFair() })
  })

  it.each<[Record<string, number>, string]>([
    [{ flows: -1 }, 'flows must be an integer >= 0, got -1'],
    [{ flows: Number.NaN }, 'flows must be an integer >= 0, got NaN'],
    [{ bucketsPerLevel: 0 }, 'bucketsPerLevel must be an integer >= 1, got 0'],
    [{ tolerableFailures: 1 }, 'tolerableFailures must be an integer >= 2, got 1'],
    [{ flows: 5000, bucketsPerLevel: 1 }, 'bucketsPerLevel must be larger for 5000 flows, got 1'],
    [{ flow: 3 }, 'traffic has no option "flow"; it knows bucketsPerLevel, flows, tolerableFailures'],
  ])('refuses %j by name', (traffic, message) => {
    expect(() => tuneFair(traffic)).toThrow(message)
  })
})
