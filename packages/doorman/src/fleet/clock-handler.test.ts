import { FairTracker } from '@fairlead/core'
import { doormanFleet } from '@fairlead/core/doorman'
import { CLOCK_PATH, ClockDesk } from '@fairlead/core/internal'
import { manualClock } from '@fairlead/core/testing'
import { until } from '@fairlead-testing/waiting'
import { afterEach, describe, expect, it } from 'vitest'
import { fairShare } from '../fixtures/repository.js'
import type { DoormanOptions } from '../options.js'
import { type Doorman, startDoorman } from '../start-doorman.js'

const ends: (() => unknown)[] = []
afterEach(async () => {
  for (const end of ends.splice(0).toReversed()) await end()
})

async function start(options: Partial<DoormanOptions> = {}): Promise<Doorman> {
  const here = { host: '127.0.0.1', hostname: '127.0.0.1', httpPort: 0 }
  const doorman = await startDoorman({ config: fairShare(), fresh: true, ...here, ...options })
  ends.push(() => doorman.close())
  return doorman
}

/** The first reports of a process whose resource is short, after its question. */
function reports(): string[] {
  const clock = manualClock()
  const said: string[] = []
  const join = () => (report: string) => said.push(report)
  const tracker = new FairTracker({ clock, shared: { link: { join } } })
  for (let i = 0; i < 1_000; i++) {
    clock.advance(10)
    if (tracker.register('somebody')) tracker.report('somebody', i % 2 === 0 ? 'success' : 'failure')
  }
  return said.slice(1)
}

const [greeting] = reports() as [string]

async function post({ httpUrl }: Doorman, body: unknown, headers = {}): Promise<{ status: number; answer: object }> {
  const response = await fetch(httpUrl + CLOCK_PATH, { method: 'POST', headers, body: JSON.stringify(body) })
  return { status: response.status, answer: (await response.json()) as object }
}

describe('a Doorman server that hears a report', () => {
  it('answers a process that greets with its lease, and keeps clocks of two names apart', async () => {
    const doorman = await start()
    const first = await post(doorman, ['orders', greeting])
    expect(first).toMatchObject({ status: 200, answer: { lease: expect.stringContaining('\n') } })
    const other = await post(doorman, ['reports', greeting])
    const arbiterOf = ({ answer }: { answer: { lease?: string } }): unknown =>
      answer.lease?.split('\n')[1]?.slice(0, 10)
    expect(arbiterOf(other)).not.toBe(arbiterOf(first))
  })

  it('answers what is no report with no lease, and what is no request with its fault', async () => {
    const doorman = await start()
    expect(await post(doorman, ['orders', 'x'])).toEqual({ status: 200, answer: {} })
    for (const [body, field] of [
      [['', 'x'], 'name'],
      [['orders'], 'report'],
      [['orders', 7], 'report'],
      [{ name: 'orders', report: greeting }, 'name'],
      [null, 'name'],
    ] as const)
      expect(await post(doorman, body)).toMatchObject({
        status: 400,
        answer: { message: expect.stringContaining(field) },
      })
    const get = await fetch(doorman.httpUrl + CLOCK_PATH)
    expect(get.status).toBe(404)
  })

  it('hears only callers that may ask for a resource of that name', async () => {
    const token = 'a-token-of-sixteen-and-more'
    const doorman = await start({ access: [{ name: 'a', token, resources: ['orders'] }] })
    const headers = { authorization: `Bearer ${token}` }
    expect(await post(doorman, ['orders', greeting])).toMatchObject({ status: 401 })
    expect(await post(doorman, ['reports', greeting], headers)).toMatchObject({ status: 403 })
    expect(await post(doorman, ['orders', greeting], headers)).toMatchObject({
      answer: { lease: expect.any(String) },
    })
  })
})

describe('a process that reports to a server which is not the master', () => {
  it('goes to the master, and on to the next server if it is unknown', async () => {
    const asked: string[] = []
    const answers = new Map([
      ['http://one', { mastership: {} }],
      ['http://two', { mastership: { masterAddress: 'http://three' } }],
      ['http://three', {}],
    ])
    const fleet = doormanFleet({
      url: ['http://one', 'http://two'],
      fetch: async (input) => {
        const base = String(input).replace(CLOCK_PATH, '')
        asked.push(base)
        if (asked.length > 4) throw new Error('down')
        return new Response(JSON.stringify(answers.get(base)))
      },
    })
    ends.push(() => fleet.close())
    const send = fleet.join('orders', () => {})
    for (let calls = 1; calls <= 6; calls++) {
      send('report', 'member')
      await until('an answer', () => asked.length === calls)
      await new Promise((resolve) => setImmediate(resolve))
    }
    expect(asked.slice(0, 5)).toEqual(['http://one', 'http://two', 'http://three', 'http://three', 'http://three'])
    expect(asked[5]).toBe('http://one')
  })
})

describe('a desk', () => {
  /** A desk with timers that the test fires. */
  function desk(): { desk: ClockDesk; clock: ReturnType<typeof manualClock>; ring: () => void } {
    const clock = manualClock(1_000)
    let timers: (() => void)[] = []
    const after = (_ms: number, fn: () => void) => {
      timers.push(fn)
      return () => {
        timers = timers.filter((each) => each !== fn)
      }
    }
    const ring = () => {
      for (const fn of timers.splice(0)) fn()
    }
    return { desk: new ClockDesk(clock, after), clock, ring }
  }
  /** A report of no period, by the process that greets, or by one of that name. */
  const nothing = (name = greeting.slice(2, 11)): string => `${greeting.slice(0, 2)}${name}!!`

  it('lets one report of a member wait, and answers it in the end, with what has come meanwhile', async () => {
    const { desk: some, ring } = desk()
    await some.report('orders', greeting)
    const first = some.report('orders', nothing())
    const second = some.report('orders', nothing())
    expect(await first).toEqual({})
    ring()
    expect(await second).toEqual({})
  })

  it('lets no member wait that the clock does not know', async () => {
    const { desk: some } = desk()
    expect(await some.report('orders', nothing('stranger1'))).toEqual({})
  })

  it('lets no member wait when it is cleared, and has forgotten everything', async () => {
    const { desk: some } = desk()
    await some.report('orders', greeting)
    const waiting = some.report('orders', nothing())
    some.clear()
    expect(await waiting).toEqual({})
    expect(some.size).toBe(0)
  })

  it('keeps a thousand clocks, each for as long as members report', async () => {
    const { desk: some, clock } = desk()
    for (let i = 0; i < 1_200; i++) await some.report(`clock-${i}`, greeting)
    expect(some.size).toBe(1_000)
    clock.advance(61_000)
    await some.report('another', greeting)
    expect(some.size).toBe(1)
    await some.report('n'.repeat(600), greeting)
    expect(some.size).toBe(1)
  })
})
