import { expect, it } from 'vitest'
import { noisy } from './fixtures/noisy.js'

/** Mean served part of the quiet flows' demand where sixteen processes have a request in four seconds each. */
const quiet = (processes: number): number => {
  const crowds = [[9, 0.1] as const, [2, 1.5] as const]
  const settings = { crowds, capacity: 2, burst: 2, seconds: 1_500, processes, shared: processes > 1 }
  const means = [1, 2, 3].map((seed) => noisy({ ...settings, seed }).quiet(500, 1_500).mean)
  return means.reduce((sum, mean) => sum + mean, 0) / means.length
}

it('processes with few requests each protect quiet flows like one process', () => {
  const one = quiet(1)
  // Without protection half of everything fails.
  expect(one).toBeGreaterThan(0.65)
  expect(quiet(16)).toBeGreaterThan(one - 0.05)
})
