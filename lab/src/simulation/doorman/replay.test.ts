import { describe, expect, it } from 'vitest'
import { type Draw, replayed } from './chance.js'
import published from './fixtures/published-runs.json' with { type: 'json' }
import { PUBLISHED_SCENARIOS } from './published-scenarios.js'
import { type PublishedServer, publishedSystem } from './published-system.js'
import { Simulation } from './scenario.js'

type Sums = number[] | null
type Sample = [second: number, wants: number, has: number, ...levels: Sums[]]

interface Run {
  name: string
  seconds: number
  draws: Draw[]
  samples: Sample[]
}

describe('the published system, with the draws of recorded runs', () => {
  it.each((published.scenarios as Run[]).map((run) => [run.name, run] as const))('%s goes as recorded', (name, run) => {
    const chances = replayed(run.draws)
    const scenario = PUBLISHED_SCENARIOS.find((each) => each.name === name)!
    const simulation = new Simulation(scenario, publishedSystem, chances)
    const samples: Sample[] = []
    simulation.world.timeline.every(5, () => samples.push(sample(simulation)))
    simulation.world.timeline.run(run.seconds)
    expect(samples).toHaveLength(run.samples.length)
    for (const [i, [second, ...sums]] of samples.entries()) {
      const [expectedSecond, ...expected] = run.samples[i]!
      expect(second).toBe(expectedSecond)
      expect(sums.map((each) => each === null)).toEqual(expected.map((each) => each === null))
      for (const [at, value] of sums.flat().entries())
        if (value !== null) expect(value).toBeCloseTo(expected.flat()[at]!, 7)
    }
    expect(chances.left).toBe(0)
  })
})

function sample({ clients, jobs, now }: Simulation<PublishedServer>): Sample {
  const sum = (values: readonly number[]): number => values.reduce((total, value) => total + value, 0)
  const levels = [0, 1, 2].map((level) => {
    const known = jobs.filter((job) => job.level === level).flatMap((job) => job.master?.sums() ?? [])
    return known.length === 0 ? null : [0, 1, 2, 3].map((at) => sum(known.filter((_, i) => i % 4 === at)))
  })
  return [
    now,
    sum(clients.map(({ client }) => client.wants)),
    sum(clients.map(({ client }) => client.has(now))),
    ...levels,
  ]
}
