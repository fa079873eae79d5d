import type { Lease } from '@fairlead/core/doorman'
import { manualClock } from '@fairlead/core/testing'
import { describe, expect, it } from 'vitest'
import { DoormanServer } from './doorman-server.js'
import { LeaseRecord } from './lease-record.js'
import type { ResourceRepository, ResourceTemplate } from './repository.js'

const EPOCH_MS = 1_700_000_000_000

function entry(leaseLength: number, glob = '*'): ResourceTemplate {
  const algorithm = { kind: 'FAIR_SHARE' as const, leaseLength, refreshInterval: 1, parameters: [] }
  return { identifierGlob: glob, capacity: 100, algorithm }
}

function repository(...entries: readonly ResourceTemplate[]): ResourceRepository {
  return { resources: [...entries] }
}

/** Masters that follow each other, on one clock. */
function world() {
  const clock = manualClock()
  const seams = { clock, wallClock: () => EPOCH_MS + clock(), minimumIntervalMs: 0 }
  const now = (): number => EPOCH_MS / 1_000 + clock() / 1_000
  const granted: Lease[] = []
  const master = (leases: ResourceRepository, how: { afterNobody?: boolean; before?: string | undefined }) => {
    const server = new DoormanServer({ id: 'root', repository: leases, elected: true, ...seams })
    server.won(how)
    return server
  }
  const ask = (server: DoormanServer, clientId: string, has?: Lease, wants = 100): Lease => {
    const request = { resourceId: 'db', priority: 0, wants, ...(has === undefined ? {} : { has }) }
    const { gets } = server.getCapacity({ clientId, resource: [request] }).response[0]!
    granted.push(gets)
    return gets
  }
  /** The most that two clients hold at once, where one is silent and the other asks every second. */
  const mostHeld = (server: DoormanServer, silent: Lease): number => {
    let most = 0
    let mine: Lease | undefined
    while (now() < silent.expiryTime) {
      mine = ask(server, 'busy', mine)
      most = Math.max(most, silent.capacity + mine.capacity)
      clock.advance(1_000)
    }
    return most
  }
  return { clock, now, master, ask, mostHeld }
}

describe('a master with shorter leases than its predecessor', () => {
  it.each([
    [300, 60],
    [600, 30],
    [60, 10],
  ])('grants nothing twice: %i s, then %i s', (long, short) => {
    const { clock, master, ask, mostHeld } = world()
    const first = master(repository(entry(long)), { afterNobody: true })
    const silent = ask(first, 'silent')
    expect(silent.capacity).toBe(100)
    clock.advance(1_000)
    const second = master(repository(entry(short)), { before: first.leaseRecord() })
    expect(mostHeld(second, silent)).toBe(100)
    clock.advance(2_000)
    expect(ask(second, 'busy').capacity).toBe(100)
  })

  it('grants nothing twice where the old leases go on for a while after the record was written', () => {
    const { clock, master, ask, mostHeld } = world()
    const shorter = repository(entry(5))
    const first = master(repository(entry(60)), { afterNobody: true })
    const before = first.leaseRecord({ repository: shorter, within: 10 })
    clock.advance(9_000)
    const silent = ask(first, 'silent')
    clock.advance(1_000)
    expect(mostHeld(master(shorter, { before }), silent)).toBe(100)
  })

  it('reserves no longer because a clock was ahead when the leases were shortened', () => {
    const { clock, master, ask } = world()
    const shorter = repository(entry(5))
    const ahead = LeaseRecord.of([entry(60)]).followedBy(shorter.resources, EPOCH_MS / 1_000 + 86_400)
    clock.advance(70_000)
    const second = master(shorter, { before: ahead.toString() })
    clock.advance(61_000)
    expect(ask(second, 'busy').capacity).toBe(100)
    const third = master(shorter, { before: second.leaseRecord() })
    clock.advance(6_000)
    expect(ask(third, 'busy').capacity).toBe(100)
  })

  it('grants nothing twice where the leases were shortened twice, and the first time while the server ran', () => {
    const { clock, master, ask, mostHeld } = world()
    const first = master(repository(entry(600)), { afterNobody: true })
    const silent = ask(first, 'silent')
    first.configure(repository(entry(60)))
    clock.advance(90_000)
    const second = master(repository(entry(30)), { before: first.leaseRecord() })
    clock.advance(45_000)
    const third = master(repository(entry(10)), { before: second.leaseRecord() })
    expect(mostHeld(third, silent)).toBe(100)
    expect(ask(third, 'busy').capacity).toBe(100)
  })

  it('reserves no longer for a resource whose leases are not longer', () => {
    const { clock, master, ask } = world()
    const first = master(repository(entry(600, 'other'), entry(20)), { afterNobody: true })
    clock.advance(1_000)
    const second = master(repository(entry(10)), { before: first.leaseRecord() })
    expect(ask(second, 'new').capacity).toBe(0)
    clock.advance(19_000)
    expect(ask(second, 'new').capacity).toBe(0)
    clock.advance(1_000)
    expect(ask(second, 'new').capacity).toBe(100)
  })

  it('reserves as long by a clock that is set forward', () => {
    const clock = manualClock()
    let aheadMs = 0
    const seams = { clock, wallClock: () => EPOCH_MS + clock() + aheadMs, minimumIntervalMs: 0 }
    const first = new DoormanServer({ id: 'root', repository: repository(entry(300)), elected: true, ...seams })
    first.won({ afterNobody: true })
    first.configure(repository(entry(60)))
    const second = new DoormanServer({ id: 'root', repository: repository(entry(10)), elected: true, ...seams })
    second.won({ before: first.leaseRecord() })
    aheadMs = 100_000
    const resource = [{ resourceId: 'db', priority: 0, wants: 100 }]
    const capacity = () => second.getCapacity({ clientId: 'new', resource }).response[0]!.gets.capacity
    clock.advance(299_000)
    expect(capacity()).toBe(0)
    clock.advance(2_000)
    expect(capacity()).toBe(100)
  })

  it('and without a record, reserves until a reported lease has ended, for those that are not reported', () => {
    const { clock, master, ask } = world()
    const first = master(repository(entry(300)), { afterNobody: true })
    const [silent, known] = [ask(first, 'silent', undefined, 50), ask(first, 'known', undefined, 40)]
    clock.advance(1_000)
    const second = master(repository(entry(10)), {})
    let own = ask(second, 'known', known, 40)
    clock.advance(5_000)
    for (let at = 0; at < 290; at += 5) {
      own = ask(second, 'known', own, 0)
      expect(ask(second, 'new').capacity + silent.capacity).toBeLessThanOrEqual(100)
      clock.advance(5_000)
    }
    clock.advance(10_000)
    expect(ask(second, 'new').capacity).toBeGreaterThan(60)
  })

  it('and without a record, counts a reported lease until it ends, whatever its own leases are', () => {
    const { clock, master, ask, mostHeld } = world()
    const first = master(repository(entry(300)), { afterNobody: true })
    const silent = ask(first, 'silent')
    clock.advance(1_000)
    const second = master(repository(entry(10)), {})
    // The answer is lost, and its client does not ask again.
    ask(second, 'silent', silent)
    expect(mostHeld(second, silent)).toBe(100)
  })

  it('and without a record, grants nothing twice if its learning mode lasts as long as the longer leases', () => {
    const { clock, master, ask, mostHeld } = world()
    const silent = ask(master(repository(entry(300)), { afterNobody: true }), 'silent')
    clock.advance(1_000)
    const shorter = entry(10)
    const second = master(
      repository({ ...shorter, algorithm: { ...shorter.algorithm, learningModeDuration: 300 } }),
      {},
    )
    expect(mostHeld(second, silent)).toBe(100)
  })

  it('does not believe in a lease of more than a day', () => {
    const { clock, now, master, ask } = world()
    const server = master(repository(entry(10)), {})
    ask(server, 'liar', { capacity: 1, expiryTime: Math.floor(now()) + 86_402, refreshInterval: 1 }, 0)
    clock.advance(12_000)
    expect(ask(server, 'new').capacity).toBe(100)
  })
})

describe('leases that are shortened while the server runs', () => {
  it('count until their end', () => {
    const { clock, master, ask, mostHeld } = world()
    const server = master(repository(entry(300)), { afterNobody: true })
    const silent = ask(server, 'silent')
    clock.advance(1_000)
    server.configure(repository(entry(10)))
    expect(mostHeld(server, silent)).toBe(100)
  })

  it('count until their end where the answer with the shorter one is lost', () => {
    const { clock, master, ask, mostHeld } = world()
    const server = master(repository(entry(300)), { afterNobody: true })
    const silent = ask(server, 'silent')
    clock.advance(1_000)
    server.configure(repository(entry(10)))
    ask(server, 'silent', silent, 1)
    expect(mostHeld(server, silent)).toBe(100)
  })

  it('count until their end where the server still reserves for its predecessor, for a resource not asked for', () => {
    const { clock, master, ask, mostHeld } = world()
    const first = master(repository(entry(300)), { afterNobody: true })
    const silent = ask(first, 'silent')
    const second = master(repository(entry(300)), {})
    clock.advance(1_000)
    second.configure(repository(entry(10)))
    expect(mostHeld(second, silent)).toBe(100)
  })
})

describe('a record of leases', () => {
  const templates = (...lengths: readonly number[]) => lengths.map((length) => entry(length))

  it('drops what no lease can be from any more, and keeps one of equal configurations', () => {
    let record = LeaseRecord.of(templates(300))
    for (let at = 0; at < 10_000; at++) record = record.followedBy(templates(at % 2 === 0 ? 60 : 300), at)
    expect(JSON.parse(record.toString())).toEqual({
      leases: [['*', 300]],
      former: [{ leases: [['*', 60]], until: 9_999 }],
    })
    const later = record.followedBy(templates(10), 20_000).followedBy(templates(20), 30_000)
    expect(JSON.parse(later.toString())).toEqual({
      leases: [['*', 20]],
      former: [{ leases: [['*', 10]], until: 30_000 }],
    })
  })

  it.each(['1', '', 'null', '{}', '{"leases":[["*","60"]],"former":[]}', '{"leases":[["[",60]],"former":[]}'])(
    'is not read from %j',
    (text) => {
      expect(LeaseRecord.from(text)).toBeUndefined()
    },
  )
})
