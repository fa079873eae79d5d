import { DoormanClient } from '@fairlead/core/doorman'
import { keyedHash, type Words } from '@fairlead/core/internal'
import { settled, World } from '@fairlead/core/testing'
import { DoormanServer } from '@fairlead/doorman/server'
import type { Figure } from './figure.js'
import { Drawing } from './plots/drawing.js'
import { plotLines } from './plots/lines.js'

const WIDTH = 1_080

/** A request's way through the gate. */
function gateDrawing(): string {
  const drawing = new Drawing(WIDTH, 330)
  drawing.text(20, 34, 'A request’s way through the gate', { size: 20, bold: true })
  drawing.text(
    20,
    56,
    'Each stage admits, refuses, or lets the request wait. A refusal undoes the holds of the stages before it.',
    { faint: true },
  )
  const stages = [
    ['fair', 'over its\nshare?'],
    ['shed', 'can the process\ntake more?'],
    ['quota', 'within what\nwas sold?'],
    ['budget', 'enough of\nit left?'],
    ['doorman', 'inside the\nfleet’s lease?'],
    ['queue', 'its turn, and\na slot free?'],
  ] as const
  const [left, step, width] = [104, 136, 112]
  const middle = 136
  drawing.text(6, middle + 4, 'a request', { bold: true }).line([80, middle], [left - 4, middle], { arrow: true })
  for (const [i, [name, about]] of stages.entries()) {
    const x = left + i * step
    drawing.box(x, 96, width, 82, name, about)
    drawing.line([x + width, middle], [x + step - 4, middle], { arrow: true })
    drawing.line([x + width / 2, 178], [x + width / 2, 232], { color: 'orange', arrow: true })
  }
  const after = left + stages.length * step
  const refused = stages.length * step - (step - width)
  drawing.box(after, 96, width, 82, 'handler', 'holds the\npermit', 'green')
  drawing.box(
    left,
    236,
    refused,
    52,
    'refused',
    '429: the flow is over its share or quota. 503: there is not enough for anybody. Retry-After: when to come back.',
    'orange',
  )
  drawing.line([after + width / 2, 178], [after + width / 2, 232], { color: 'green', arrow: true })
  drawing.text(after + width / 2, 252, 'finish(outcome):\nall stages hear how\nit ended; FAIR learns', {
    size: 12,
    faint: true,
    anchor: 'middle',
  })
  return drawing.toString()
}

/** The clock of FAIR, and tags of flows. */
function clockDrawing(): string {
  const drawing = new Drawing(WIDTH, 330)
  drawing.text(20, 34, 'The fair clock', { size: 20, bold: true })
  drawing.text(
    20,
    56,
    'A flow’s tag is the time until which it has had its share. While something is short, a flow is admitted if its tag is not ahead of the clock.',
    { faint: true },
  )
  const axis = 220
  const clock = 600
  drawing.line([60, axis], [1_020, axis], { arrow: true })
  drawing.text(1_020, axis + 24, 'time of the clock', { anchor: 'end', faint: true })
  drawing.line([clock, 92], [clock, axis + 26], { color: 'black' })
  drawing.text(clock, axis + 46, 'T, the clock', { anchor: 'middle', bold: true })
  drawing.text(clock, axis + 66, 'runs at the fair rate: as fast as capacity lets flows of weight 1 be served', {
    anchor: 'middle',
    size: 12,
    faint: true,
  })
  const tags = [
    [170, 'quiet', 'far behind: keeps credit\nfor a few requests only', 'green'],
    [430, 'modest', 'behind the clock:\nadmitted', 'green'],
    [790, 'heavy', 'ahead of the clock: refused,\nRetry-After says until when', 'orange'],
  ] as const
  for (const [x, name, about, color] of tags) {
    drawing.rect(x - 7, axis - 14, 14, 14, color)
    drawing.text(x, 128, name, { anchor: 'middle', bold: true })
    drawing.text(x, 148, about, { anchor: 'middle', size: 12, faint: true })
  }
  drawing.line([430, axis - 22], [540, axis - 22], { color: 'green', arrow: true })
  drawing.text(485, axis - 30, '+ cost ÷ weight', { anchor: 'middle', size: 12 })
  return drawing.toString()
}

/** Levels of the sketch, with the buckets of these names by the default hash. */
function sketchDrawing(): string {
  const levels = 4
  const buckets = 24
  const key: Words = { a: 0x9e3779b9, b: 0x7f4a7c15 }
  const placesOf = (flow: string): number[] =>
    Array.from({ length: levels }, (_, level) => {
      const into: Words = { a: 0, b: 0 }
      keyedHash(`${flow}#${level}`, key, into)
      return (into.a >>> 0) % buckets
    })
  const drawing = new Drawing(WIDTH, 330)
  drawing.text(20, 34, 'The levels of the sketch', { size: 20, bold: true })
  drawing.text(
    20,
    56,
    'A flow has one bucket in each level, by a keyed hash. What counts for it is the least of its buckets: it suffers for another\nonly where they share all of them. The keys change at every rotation. (Here 24 buckets; 4,096 ship.)',
    { faint: true },
  )
  const flows = [
    ['tenant-a', 'blue'],
    ['tenant-b', 'orange'],
  ] as const
  const top = 116
  for (let level = 0; level < levels; level++) {
    const y = top + level * 44
    drawing.text(60, y + 20, `level ${level + 1}`, { faint: true })
    for (let bucket = 0; bucket < buckets; bucket++) drawing.rect(130 + bucket * 38, y, 32, 28, 'grey', 0.08)
    for (const [flow, color] of flows) drawing.rect(130 + placesOf(flow)[level]! * 38, y, 32, 28, color, 0.6)
  }
  for (const [i, [flow, color]] of flows.entries()) {
    drawing.rect(130 + i * 140, 298, 16, 16, color, 0.6)
    drawing.text(154 + i * 140, 311, flow)
  }
  return drawing.toString()
}

const LEASE_SECONDS = 20
const REFRESH_SECONDS = 5
const CAPACITY = 100
/** When the server stops answering, and when it answers again. */
const AWAY = [30, 70] as const
const LEASE_END = 140

interface LeaseCourse {
  readonly pessimistic: readonly (readonly [number, number])[]
  readonly safe: readonly (readonly [number, number])[]
}

/** Rates that two clients of one server may use while it answers, is away, and answers again. */
async function leaseCourse(): Promise<LeaseCourse> {
  const world = new World()
  const { clock, after } = world
  const wallClock = (): number => 1_800_000_000_000 + clock()
  const server = new DoormanServer({
    id: 'root',
    repository: {
      resources: [
        {
          identifierGlob: '*',
          capacity: CAPACITY,
          safeCapacity: 10,
          algorithm: {
            kind: 'FAIR_SHARE',
            leaseLength: LEASE_SECONDS,
            refreshInterval: REFRESH_SECONDS,
            parameters: [],
            learningModeDuration: 0,
          },
        },
      ],
    },
    clock,
    wallClock,
    after,
  })
  const answering = <T>(call: () => T): T => {
    const seconds = clock() / 1_000
    if (seconds >= AWAY[0] && seconds < AWAY[1]) throw new Error('nobody answers')
    return call()
  }
  const transport = {
    connect: () => ({
      discovery: () => answering(() => server.discovery()),
      getCapacity: (request: Parameters<typeof server.getCapacity>[0]) => answering(() => server.getCapacity(request)),
      getServerCapacity: (request: Parameters<typeof server.getServerCapacity>[0]) =>
        answering(() => server.getServerCapacity(request)),
      releaseCapacity: (request: Parameters<typeof server.releaseCapacity>[0]) =>
        answering(() => server.releaseCapacity(request)),
    }),
  }
  const leases = (['pessimistic', 'safe'] as const).map((mode) => {
    const client = new DoormanClient({ transport, id: mode, mode, clock, wallClock, after, random: () => 0.5 })
    return { client, rate: client.rate('db', { wants: 60 }) }
  })
  const courses = leases.map((): [number, number][] => [])
  for (let second = 0; second <= LEASE_END; second += 0.5) {
    await settled()
    for (const [i, { rate }] of leases.entries()) courses[i]!.push([second, rate.capacity])
    world.advance(500)
  }
  for (const { client } of leases) await client.close()
  return { pessimistic: courses[0]!, safe: courses[1]! }
}

export const drawings: Figure = {
  name: 'drawings',
  file: 'drawing',
  about: 'how a request passes the gate, how FAIR counts, and how long a lease lasts',
  async make(_effort, tell) {
    tell('drawings')
    const pictures = { gate: gateDrawing(), clock: clockDrawing(), sketch: sketchDrawing() }
    tell('a lease')
    const course = await leaseCourse()
    const lease = plotLines(
      'A lease’s life',
      `Simulated: two clients that want more than half of 100 each, leases of ${LEASE_SECONDS} s, asked for anew every ${REFRESH_SECONDS} s; nobody answers from ${AWAY[0]} s to ${AWAY[1]} s.\n` +
        'Until its lease ends a client keeps its capacity; then it has none (pessimistic) or the safe capacity, here 10 (safe).',
      [
        {
          title: 'Capacity of a client',
          x: { name: 'seconds', least: 0, most: LEASE_END },
          y: { name: 'units/s', most: 70 },
          lines: [
            { name: 'pessimistic', color: 'blue', points: course.pessimistic, step: true },
            { name: 'safe', color: 'orange', dashed: true, points: course.safe, step: true },
          ],
        },
      ],
    )
    return { tables: [], pictures: { ...pictures, lease }, data: course }
  },
}
