import { byWidth } from '@fairlead-testing/oracles'
import { describe, expect, it } from 'vitest'
import { fixed } from '../capacity/index.js'
import { seededRandom } from '../testing/seeded-random.js'
import { World } from '../testing/world.js'
import { queueOf, settled } from './fixtures/queue-of.js'
import type { BandOptions, RequestQueueOptions } from './options.js'
import type { QueuePermit } from './queued-request.js'
import { RequestQueue } from './request-queue.js'

const [HIGH, LOW] = [{ band: 0 }, { band: 1 }]

function bandsOf(bands: readonly BandOptions[], more: Partial<RequestQueueOptions> = {}) {
  const trial = queueOf({ concurrency: 10, bands, perFlowLimit: 5_000, maxWaiting: 5_000, ...more })
  const running = (): number[] => trial.queue.snapshot().bands.map((band) => band.running)
  let made = 0
  /** Sends a number of requests in a band, each with its own flow. */
  const crowd = (count: number, band: number): string[] =>
    Array.from({ length: count }, () => {
      const name = `${made++}`
      trial.ask(name, { flow: name, band })
      return name
    })
  return { ...trial, running, crowd }
}

describe('a flow of a high band that has all the slots it may have', () => {
  const most = { concurrency: 5, perFlowConcurrency: (flow: string) => (flow === 'a' ? 1 : 5) }

  it('leaves the others to lower bands', async () => {
    const { ask, end, started } = bandsOf([{}, {}], most)
    ask('a1', HIGH)
    ask('a2', HIGH)
    for (const name of ['b1', 'c1', 'd1', 'e1', 'f1']) ask(name, LOW)
    expect(started).toEqual(['a1', 'b1', 'c1', 'd1', 'e1'])
    await end('a1')
    expect(started.slice(5)).toEqual(['a2'])
    await end('a2')
    expect(started.slice(6)).toEqual(['f1'])
  })

  it('leaves them to other flows of its band first, also to one that has more than its share', async () => {
    const { ask, end, started } = bandsOf([{}, {}], most)
    ask('a1', HIGH)
    for (const name of ['b1', 'b2', 'b3', 'b4', 'b5']) ask(name, HIGH)
    ask('a2', HIGH)
    ask('c1', LOW)
    await end('b1')
    expect(started.slice(5)).toEqual(['b5'])
    await end('b2')
    expect(started.slice(6)).toEqual(['c1'])
  })
})

describe('a share of the slots', () => {
  it('comes back from a higher band as its requests end, and is never less while the band wants it', async () => {
    const { crowd, running, end, started } = bandsOf([{}, { share: 0.3 }])
    crowd(40, 0)
    expect(running()).toEqual([10, 0])
    crowd(40, 1)
    const seen: string[] = []
    for (let i = 0; i < 30; i++) {
      await end(started[i]!)
      seen.push(running().join(' '))
    }
    expect(seen.slice(0, 3)).toEqual(['9 1', '8 2', '7 3'])
    expect(new Set(seen.slice(2))).toEqual(new Set(['7 3']))
  })

  it('is lent while it is idle, all of it by default', async () => {
    const { crowd, running } = bandsOf([{ share: 0.6 }, { share: 0.4 }])
    crowd(20, 1)
    expect(running()).toEqual([0, 10])
  })

  it('is kept as far as it is not lendable, so that the band never waits for it', async () => {
    const { crowd, running, ask } = bandsOf([{ share: 0.5, lendable: 0.4 }, {}])
    crowd(20, 1)
    expect(running()).toEqual([0, 7])
    for (const name of ['x', 'y', 'z']) expect(ask(name, HIGH)?.admitted).toBe(true)
    expect(ask('w', HIGH)).toBeUndefined()
    expect(running()).toEqual([3, 7])
  })

  it('is borrowed up to the most that a band may have', async () => {
    const { crowd, running, end } = bandsOf([{ most: 0.8 }, { share: 0.1, most: 0.5 }])
    crowd(20, 1)
    expect(running()).toEqual([0, 5])
    const high = crowd(20, 0)
    expect(running()).toEqual([5, 5])
    await end(high[0]!)
    expect(running()).toEqual([5, 5])
  })

  it('lets a lower band start at once while a higher one has its most', () => {
    const { crowd, ask, running } = bandsOf([{ most: 0.5 }, {}])
    crowd(9, 0)
    expect(ask('low', LOW)?.admitted).toBe(true)
    expect(running()).toEqual([5, 1])
  })

  it('goes to the highest of the bands that are below theirs, and the rest to the highest', async () => {
    const { crowd, running, end, started } = bandsOf([{ share: 0.2 }, { share: 0.3 }, {}])
    const low = crowd(10, 2)
    crowd(20, 1)
    crowd(20, 0)
    for (let i = 0; i < 10; i++) await end(low[i]!)
    expect(running()).toEqual([7, 3, 0])
    expect(started.length).toBe(20)
  })

  it('is one request at least, and a request wider than the most runs where the band has none', async () => {
    const { ask, running, end } = bandsOf([{}, { share: 0.05, most: 0.2 }], { concurrency: 4 })
    for (const name of ['a', 'b', 'c', 'd']) ask(name, HIGH)
    ask('w', { band: 1, width: 3 })
    for (const name of ['e', 'f', 'g']) ask(name, HIGH)
    expect(running()).toEqual([4, 0])
    for (const name of ['a', 'b', 'c', 'd', 'e']) await end(name)
    // Its turn came before theirs, but it needs three slots, and some requests may pass.
    expect(running()).toEqual([2, 0])
    await end('f')
    expect(running()).toEqual([1, 3])
  })

  it('follows a limit that changes, at once', async () => {
    const slots = fixed(4)
    const { crowd, running } = bandsOf([{ most: 0.5 }, { share: 0.5, lendable: 0 }], { concurrency: slots })
    crowd(20, 0)
    expect(running()).toEqual([2, 0])
    slots.resize(20)
    await settled()
    expect(running()).toEqual([10, 0])
  })

  it('is of the pool, too', async () => {
    const { ask, running, end, queue } = bandsOf([{}, { share: 0.5 }], {
      concurrency: 100,
      pool: { size: 100, unitsOf: () => 10 },
    })
    for (let i = 0; i < 20; i++) ask(`h${i}`, { band: 0, flow: `h${i}` })
    for (let i = 0; i < 20; i++) ask(`l${i}`, { band: 1, flow: `l${i}` })
    for (let i = 0; i < 8; i++) await end(`h${i}`)
    expect(running()).toEqual([5, 5])
    expect(queue.snapshot()).toMatchObject({ pool: { inFlight: 100 } })
  })

  it('leaves no slot empty for which anybody who may wants it, and nobody above its most: random bands', async () => {
    for (let seed = 1; seed <= byWidth(2, 20); seed++) {
      const random = seededRandom(seed)
      const shares = [0.2, 0.3, 0.1]
      const options = shares.map((share) => ({ share, lendable: random(), most: share + (1 - share) * random() }))
      const { running, ask, end, started, queue } = bandsOf(options, { concurrency: 20, maxWaitMs: 86_400_000 })
      const live: string[] = []
      for (let i = 0, seen = 0; i < 1_500; i++) {
        if (random() < 0.55) ask(`${seed}-${i}`, { flow: `f${i % 7}`, band: Math.floor(random() * 3) })
        else if (live.length > 0) await end(live.splice(Math.floor(random() * live.length), 1)[0]!)
        for (; seen < started.length; seen++) live.push(started[seen]!)
        const [has, bands] = [running(), queue.snapshot().bands]
        const used = has.reduce((sum, slots) => sum + slots, 0)
        const kept = (band: number): number =>
          options.reduce(
            (sum, { share, lendable }, other) =>
              other === band ? sum : sum + Math.max(0, Math.floor(share * (1 - lendable) * 20 + 1e-9) - has[other]!),
            0,
          )
        expect(used).toBeLessThanOrEqual(20)
        for (const [band, { most }] of options.entries()) {
          expect(has[band]).toBeLessThanOrEqual(Math.max(1, most * 20))
          const mayHaveMore = has[band]! + 1 <= most * 20 + 1e-9 && used + 1 + kept(band) <= 20
          if (bands[band]!.waiting > 0) expect(mayHaveMore).toBe(false)
        }
      }
    }
  })

  it.each<[string, number, readonly BandOptions[]]>([
    ['a share', 4, [{ share: 0.5 }, {}]],
    ['a part that is not lent', 4, [{}, { share: 0.25, lendable: 0 }]],
    ['a most', 2, [{ most: 0.5 }, {}]],
  ])(
    'lets others of its band pass a request that is too wide for it, by twice its width: %s',
    async (_, width, bands) => {
      const { ask, started, end, running, queue } = bandsOf(bands, { concurrency: 4, maxWaitMs: 1e6 })
      const ended = new Set<string>()
      ask('x', LOW)
      ask('a0', HIGH)
      ask('w', { ...HIGH, width })
      const narrow = Array.from({ length: 12 }, (_, i) => `a${i + 1}`)
      for (const name of narrow) ask(name, HIGH)
      // No slot that a narrow request may use is free, although the wide one waits before them in their band.
      expect(running()[0]).toBe(bands[0]!.most === 0.5 ? 2 : 3)
      for (let i = 0; !started.includes('w'); i++) {
        const next = started.find((name) => name.startsWith('a') && !ended.has(name))
        if (next === undefined) await end('x')
        else {
          ended.add(next)
          await end(next)
        }
        expect(i).toBeLessThan(20)
      }
      expect(started.indexOf('w') - 2).toBe(2 * width)
      expect(queue.snapshot().waiting).toBe(12 - 2 * width)
    },
  )

  it('never keeps a wide request waiting for ever, whatever others keep: random bands that are never idle', async () => {
    for (let seed = byWidth(46, 1); seed <= 60; seed++) {
      const random = seededRandom(seed)
      const upTo = (most: number): number => Math.floor(most * random())
      const bands = Array.from({ length: 2 + upTo(2) }, (): BandOptions => {
        const share = 0.1 + 0.2 * random()
        return { share, lendable: upTo(3) / 2, most: random() < 0.5 ? 1 : Math.min(1, share + 0.2 + 0.5 * random()) }
      })
      const idle = upTo(bands.length + 1)
      const { ask, end, started } = bandsOf(bands, { bypass: upTo(3), maxWaitMs: 86_400_000 })
      const live = new Map<string, number>()
      const add = (name: string, band: number): void => {
        if (band === idle) return
        live.set(name, band)
        ask(name, { flow: `${band}`, band })
      }
      const waiting = upTo(2) * 11 + 1
      for (let i = 0; i < waiting; i++) for (const band of bands.keys()) add(`${band}-${i}`, band)
      await settled()
      ask('wide', { flow: 'wide', band: upTo(bands.length), width: 2 + upTo(8) })
      await settled()
      for (let ends = 0; !started.includes('wide'); ends++) {
        expect(ends, `seed ${seed}`).toBeLessThan(300)
        const running = started.filter((name) => live.has(name))
        const name = running[random() < 0.5 ? 0 : upTo(running.length)]!
        const band = live.get(name)!
        live.delete(name)
        await end(name)
        add(`${name}+`, band)
        await settled()
      }
    }
  })

  it('lets a band have what it keeps while a wide request of another waits that fits beside it', async () => {
    const { ask, end, started } = bandsOf([{ share: 0.3, lendable: 0 }, {}], { bypass: 0 })
    for (const name of ['a', 'b', 'c', 'd']) ask(name, LOW)
    ask('w', { band: 1, width: 6 })
    ask('e', LOW)
    expect(ask('h', HIGH)?.admitted).toBe(true)
    await settled()
    expect(started).toEqual(['a', 'b', 'c', 'd', 'h'])
    await end('a')
    await end('b')
    expect(started.length).toBe(5)
    await end('c')
    expect(started.slice(5)).toEqual(['w'])
  })

  it('lets a band have no more than it keeps while a wide request of another would leave it less', async () => {
    const { ask, end, started } = bandsOf([{}, { share: 0.2, lendable: 0 }], { concurrency: 5, bypass: 0 })
    ask('a', HIGH)
    ask('w', { ...HIGH, width: 4 })
    for (const name of ['b1', 'b2', 'b3']) ask(name, LOW)
    await settled()
    expect(started).toEqual(['a', 'b1'])
    await end('a')
    expect(started.slice(2)).toEqual(['w'])
  })

  it.each<[string, Record<'a' | 'w' | 'n', readonly [width: number, units: number]>, number]>([
    ['slots', { a: [2, 1], w: [4, 1], n: [1, 9] }, 2 * 4],
    ['units', { a: [1, 30], w: [1, 40], n: [3, 10] }, (2 * 40) / 10],
    ['slots, and none of the pool', { a: [2, 0], w: [4, 0], n: [1, 9] }, 2 * 4],
  ])(
    'counts only what the request that is passed lacks, whatever else the others take: %s',
    async (_, needs, passing) => {
      const needOf = (name: string): readonly [number, number] => needs[name[0] as 'a' | 'w' | 'n']
      const { ask, started, end } = bandsOf([{ most: 0.5 }], {
        concurrency: 10,
        pool: { size: 100, unitsOf: ({ flow }) => needOf(flow)[1] },
        maxWaitMs: 1e6,
      })
      const send = (name: string): unknown => ask(name, { ...HIGH, flow: name, width: needOf(name)[0] })
      for (const name of ['a', 'w', ...Array.from({ length: 12 }, (_, i) => `n${i}`)]) send(name)
      for (let i = 0; i < passing; i++) {
        await settled()
        expect(started.slice(1)).toContain(`n${i}`)
        await end(`n${i}`)
      }
      await settled()
      expect(started.slice(1)).toEqual(Array.from({ length: passing }, (_, i) => `n${i}`))
      await end('a')
      expect(started.slice(1 + passing)[0]).toBe('w')
    },
  )

  it('lets what takes none of the pool pass a request that lacks only units, without end', async () => {
    const { ask, started, end } = bandsOf([{ most: 0.5 }], {
      pool: { size: 10, unitsOf: ({ flow }) => (flow === 'n' ? 0 : 3) },
      maxWaitMs: 1e6,
    })
    ask('a', { ...HIGH, flow: 'a' })
    ask('w', { ...HIGH, flow: 'w' })
    for (let i = 0; i < 30; i++) ask(`n${i}`, { ...HIGH, flow: 'n' })
    for (let i = 0; i < 30; i++) await end(`n${i}`)
    expect(started.length).toBe(31)
    await end('a')
    expect(started.at(-1)).toBe('w')
  })

  it('is checked', () => {
    const make =
      (...bands: BandOptions[]) =>
      () =>
        bandsOf(bands)
    expect(make({ share: 1.1 })).toThrow('bands[0].share must be a number from 0 to 1, got 1.1')
    expect(make({ share: 0.6 }, { share: 0.6 })).toThrow('bands: the sum of share must be at most 1, got 1.2')
    expect(make({ share: 0.1, lendable: 2 })).toThrow('bands[0].lendable must be a number from 0 to 1, got 2')
    expect(make({ most: 0 })).toThrow('bands[0].most must be a number > 0 and <= 1, got 0')
    expect(make({ share: 0.5, most: 0.4 })).toThrow('bands[0].most must be a number from 0.5 to 1, got 0.4')
    expect(make({ share: 0.5 }, { share: 0.3 }, { share: 0.2 })).not.toThrow()
  })
})

type DrainedOptions = Partial<Omit<RequestQueueOptions, 'perFlowConcurrency'>> & { perFlowConcurrency?: number }

/** Admits and ends requests by random steps, then ends all: returns the number that still wait while nothing runs. */
async function drained(options: DrainedOptions, seed: number): Promise<number> {
  const random = seededRandom(seed)
  const most = (count: number): number => Math.floor(count * random())
  const { clock, after } = new World()
  const queue = new RequestQueue({ concurrency: 4, maxWaitMs: 60_000, clock, after, ...options })
  const held = new Map<QueuePermit, { flow: string; width: number }>()
  for (let step = 0; step < 30; step++) {
    if (random() < 0.6) {
      const request = { flow: `f${most(3)}`, width: 1 + most(3), band: most(options.bands?.length ?? 1) }
      void Promise.resolve(queue.enter(request)).then((answer) => {
        if (answer.admitted) held.set(answer, request)
      })
    } else end(most(held.size))
    await settled()
    const ofFlow = (name: string): number[] =>
      [...held.values()].filter(({ flow }) => flow === name).map(({ width }) => width)
    for (const name of ['f0', 'f1', 'f2']) {
      const widths = ofFlow(name)
      if (widths.length > 1)
        expect(widths.reduce((sum, width) => sum + width, 0)).toBeLessThanOrEqual(options.perFlowConcurrency ?? 4)
    }
  }
  while (held.size > 0) {
    end(0)
    await settled()
  }
  const { waiting } = queue.snapshot()
  queue.close()
  return waiting

  function end(index: number): void {
    const permit = [...held.keys()][index]
    if (permit === undefined) return
    held.delete(permit)
    permit.finish('success')
  }
}

describe('requests of different widths, where one is passed', () => {
  it.each<[string, DrainedOptions]>([
    ['a share of half', { bands: [{ share: 0.5 }, {}] }],
    ['at most half', { bands: [{}, { most: 0.5 }] }],
    ['one band, at most half', { bands: [{ most: 0.5 }] }],
    ['half that is not lent', { bands: [{ share: 0.5, lendable: 0 }, {}] }],
    ['three bands', { bands: [{ share: 0.5, lendable: 0.6 }, { share: 0.3, most: 0.6 }, { most: 0.2 }] }],
    ['few slots of a flow', { perFlowConcurrency: 2 }],
    ['few slots of a flow, in bands', { perFlowConcurrency: 2, bands: [{ share: 0.5, most: 0.75 }, {}] }],
  ])('all start once what runs ends, and no flow has more than it may: %s', async (_, options) => {
    for (let seed = 0; seed < byWidth(60, 300); seed++) expect(await drained(options, seed), `seed ${seed}`).toBe(0)
  })
})
