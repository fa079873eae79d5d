import { systemAfter, systemClock } from '../../clock.js'
import type { SharedOptions, SharedSettings } from '../options.js'
import { ClockArbiter } from './arbiter.js'
import type { ClockLink } from './report.js'

export { SharedClockRule } from './shared-rule.js'

const TAG = 'fairlead.clock'

/** A message on the processes' own channels, among others: plain JSON. */
interface Message {
  readonly tag: typeof TAG
  readonly name: string
  readonly member: string
  readonly report?: string
  readonly lease?: string
}

/** One of Node's own modules, if available: nothing is imported that other runtimes lack. */
const builtin: NodeJS.Process['getBuiltinModule'] | undefined = globalThis.process?.getBuiltinModule

let isNameTaken = false

/** True once: a process that guards several resources has to name them. */
function takeDefaultName(): boolean {
  const isFree = !isNameTaken
  isNameTaken = true
  return isFree
}

/** A tracker with a given clock, not the platform's, shares with no other process unless that is requested. */
export function sharedSettings(
  options: SharedOptions | false | undefined,
  isPlatforms: boolean,
): SharedSettings | undefined {
  if (options === false || (options === undefined && !isPlatforms)) return undefined
  const { name, link = processLink() } = options ?? {}
  if (link === undefined) return undefined
  if (name !== undefined || options?.link !== undefined) return { ...options, name: name ?? 'default', link }
  return takeDefaultName() ? { name: 'default', link } : undefined
}

/**
 * The link to the primary process or main thread, if this one has a primary: in a worker of `node:cluster`, or a
 * thread.
 */
function processLink(): ClockLink | undefined {
  if (builtin?.('node:worker_threads')?.isMainThread === false) return linkBy(channelToMain)
  const isForked = typeof globalThis.process?.send === 'function'
  const cluster: unknown = isForked ? builtin?.('node:cluster') : undefined
  const isWorker = typeof cluster === 'object' && cluster !== null && 'isWorker' in cluster && cluster.isWorker === true
  return isWorker ? linkBy(channelToPrimary) : undefined
}

type Channel = (message: Message) => void
const hears = new Map<string, (lease: string) => void>()
let channel: Channel | undefined

/** Opens the channel only for the first report. */
function linkBy(open: () => Channel): ClockLink {
  return {
    after: systemAfter,
    join: (name, hear) => (report, member) => {
      hears.set(member, hear)
      channel ??= open()
      channel({ tag: TAG, name, member, report })
    },
  }
}

function hearLease(message: unknown): void {
  if (isOurs(message) && typeof message.lease === 'string') hears.get(message.member)?.(message.lease)
}

function channelToPrimary(): Channel {
  process.on('message', hearLease)
  return (message) => {
    // A process that loses its primary while it sends becomes independent, which is no error.
    if (process.connected) process.send?.(message, undefined, undefined, () => {})
  }
}

function channelToMain(): Channel {
  const port = new BroadcastChannel(TAG)
  port.onmessage = ({ data }: { data: unknown }) => hearLease(data)
  port.unref?.()
  return (message) => port.postMessage(message)
}

/** Most clocks of one primary: names come from other processes. */
const MOST_NAMES = 100
const arbiters = new Map<string, ClockArbiter>()

/** In the primary: a report has arrived, and `tell` is the channel to its sender. */
function hearReport({ name, member, report }: Message, tell: Channel): void {
  if (typeof report !== 'string') return
  let arbiter = arbiters.get(name)
  if (arbiter === undefined) {
    if (arbiters.size >= MOST_NAMES) return
    arbiter = new ClockArbiter(undefined, {
      now: systemClock,
      after: systemAfter,
      tell: (leases) => send(name, leases),
    })
    arbiters.set(name, arbiter)
  }
  ways.set(member, tell)
  send(name, arbiter.hear(report, systemClock()))
}

function send(name: string, leases: ReadonlyMap<string, string>): void {
  for (const [member, lease] of leases) ways.get(member)?.({ tag: TAG, name, member, lease })
}

const ways = new Map<string, Channel>()

interface ChildProcess {
  readonly connected: boolean
  on(event: 'message', listen: (message: unknown) => void): unknown
  once(event: 'exit', listen: () => void): unknown
  send(message: Message, handle: undefined, options: undefined, done: () => void): unknown
}

function serve(child: ChildProcess): void {
  const tell: Channel = (message) => {
    if (child.connected) child.send(message, undefined, undefined, () => {})
  }
  child.on('message', (message) => {
    if (isOurs(message)) hearReport(message, tell)
  })
  child.once('exit', () => {
    for (const [member, way] of ways) if (way === tell) ways.delete(member)
  })
}

let servesThreads = false

function serveThreads(): void {
  if (servesThreads) return
  servesThreads = true
  const port = new BroadcastChannel(TAG)
  port.onmessage = ({ data }: { data: unknown }) => {
    if (isOurs(data)) hearReport(data, (message) => port.postMessage(message))
  }
  port.unref?.()
}

function isOurs(message: unknown): message is Message {
  if (typeof message !== 'object' || message === null || !('tag' in message) || message.tag !== TAG) return false
  return (
    'name' in message && typeof message.name === 'string' && 'member' in message && typeof message.member === 'string'
  )
}

// A process that starts processes or threads keeps their clocks automatically: Node reports when it starts one.
const diagnostics = builtin?.('node:diagnostics_channel')
diagnostics?.subscribe?.('child_process', (message) => serve((message as { process: ChildProcess }).process))
diagnostics?.subscribe?.('worker_threads', serveThreads)
