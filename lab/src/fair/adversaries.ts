import type { Crowd, Scenario } from './scenario.js'

/** Adversaries: 60 light flows, and one that asks for the whole capacity, in ways meant to get more than its share. */
const HONEST: Crowd = { name: 'adversary', flows: 1, rate: 100 }

const TRIALS: readonly { readonly title: string; readonly adversary: Crowd; readonly size?: number }[] = [
  { title: 'one name, all the time', adversary: HONEST },
  { title: 'a new name for each request', adversary: { ...HONEST, renamedAfter: 1 } },
  { title: 'a new name for each of 500 requests a second', adversary: { ...HONEST, rate: 500, renamedAfter: 1 } },
  {
    title: 'a new name for each of 2 000 a second, all ten times as large',
    adversary: { ...HONEST, rate: 2_000, renamedAfter: 1 },
    size: 10,
  },
  { title: 'a new name every 3 requests', adversary: { ...HONEST, renamedAfter: 3 } },
  { title: 'a new name every 12 requests', adversary: { ...HONEST, renamedAfter: 12 } },
  { title: 'bursts: 400/s for 5 s of 20', adversary: { ...HONEST, rate: 400, bursts: { on: 5, off: 15 } } },
  {
    title: 'only after a rotation: 3 000/s for 2 s a minute',
    adversary: { ...HONEST, rate: 3_000, between: [60, 240], bursts: { on: 2, off: 58 } },
  },
  {
    title: '10 000 names within 10 s',
    adversary: { ...HONEST, rate: 1_000, between: [60, 70], renamedAfter: 1 },
  },
]

export const ADVERSARIES: readonly Scenario[] = TRIALS.map(({ title, adversary, size = 1 }) => ({
  name: title,
  seconds: 240,
  resource: { kind: 'bucket', rate: 100 * size, burst: 20 * size },
  crowds: [{ name: 'light', flows: 60 * size, rate: 1 }, adversary],
}))
