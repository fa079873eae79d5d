import { describe, expect, it } from 'vitest'
import { FairTracker } from '../../index.js'
import { manualClock } from '../../testing/index.js'
import { ClockDesk } from './clock-desk.js'

/** The first report of a process whose resource is short, after its question. */
function firstReport(): string {
  const clock = manualClock()
  const said: string[] = []
  const join = () => (report: string) => said.push(report)
  const tracker = new FairTracker({ clock, shared: { link: { join } } })
  for (let i = 0; i < 1_000 && said.length < 2; i++) {
    clock.advance(10)
    if (tracker.register('somebody')) tracker.report('somebody', i % 2 === 0 ? 'success' : 'failure')
  }
  return said[1]!
}

const greeting = firstReport()

describe('a desk of clocks', () => {
  const answerOf = async (answer: Promise<object>): Promise<object> => Promise.race([answer, Promise.resolve({})])

  it('is not filled by names under which nobody reports', async () => {
    const desk = new ClockDesk(
      () => 100_000,
      () => () => {},
    )
    for (let i = 0; i < 2_000; i++) void desk.report(`invented ${i}`, 'x')
    expect(desk.size).toBe(0)
    expect(await answerOf(desk.report('orders', greeting))).toHaveProperty('lease')
  })

  it('that is full gives up the clock that was silent for longest', async () => {
    const clock = manualClock()
    clock.advance(100_000)
    const desk = new ClockDesk(clock, () => () => {})
    void desk.report('silent', greeting)
    clock.advance(10)
    void desk.report('orders', greeting)
    clock.advance(10)
    for (let i = 0; i < 999; i++) void desk.report(`invented ${i}`, greeting)
    expect(desk.size).toBe(1_000)
    clock.advance(10)
    for (let i = 0; i < 5; i++) {
      await answerOf(desk.report('orders', greeting))
      expect(await answerOf(desk.report(`another ${i}`, greeting))).toHaveProperty('lease')
    }
    expect(desk.size).toBe(1_000)
    expect(await answerOf(desk.report('orders', greeting))).toHaveProperty('lease')
  })
})
