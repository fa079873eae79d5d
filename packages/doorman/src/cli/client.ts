import { setTimeout as pause, setImmediate as turn } from 'node:timers/promises'
import { DoormanClient, type RateLease } from '@fairlead/core/doorman'
import { clientId } from '@fairlead/core/node'
import { CONNECTION_FLAGS, connectionFrom, rounded } from './connection.js'
import { durationMs, type Flags, flagsFrom, UsageError } from './flags.js'

type ClientFlag = keyof typeof CONNECTION_FLAGS | 'resource' | 'wants' | 'client-id' | 'priority' | 'duration'

export const CLIENT_FLAGS: Flags<ClientFlag> = {
  ...CONNECTION_FLAGS,
  resource: { value: 'ID', help: 'a rate (required)' },
  wants: { value: 'AMOUNT', help: 'units per second [10]' },
  'client-id': { value: 'ID', help: 'tells this client from all others [host:pid:n]' },
  priority: { value: 'NUMBER', help: 'a higher band is served first [0]' },
  duration: { value: 'DURATION', help: 'how long to load it; 0: prints the first capacity, and ends [10s]' },
}

const LOOK_MS = 20
/** Interval, in units taken, at which timers and sockets get a turn if nothing limits the taking. */
const TAKEN_AT_ONCE = 1_000

/** Loads one resource: takes all that its lease allows, and prints for each second the amount and the exact time. */
export async function client(args: readonly string[], print: (line: string) => void): Promise<void> {
  const given = flagsFrom(CLIENT_FLAGS, args)
  const { resource, wants = '10', priority = '0', duration = '10s' } = given
  if (resource === undefined) throw new UsageError('--resource must be given')
  const forMs = durationMs('--duration', duration)
  const transport = await connectionFrom(given)
  const doorman = new DoormanClient({ transport, id: given['client-id'] ?? clientId() })
  const rate = doorman.rate(resource, { wants: Number(wants), priority: Number(priority) })
  // A lease's timers do not keep the process alive.
  const alive = setInterval(() => {}, 60_000)
  try {
    await firstAnswer(doorman, resource)
    print(`${resource}: ${rounded(rate.capacity)} of ${wants} wanted`)
    if (forMs > 0) await load(rate, forMs, print)
  } finally {
    await doorman.close()
    clearInterval(alive)
  }
}

/** Rejects with the error if the first question failed, or its answer leaves the resource out. */
async function firstAnswer(doorman: DoormanClient, resource: string): Promise<void> {
  for (;;) {
    const { failures, lastError, resources } = doorman.snapshot()
    if (failures > 0) throw new Error(lastError)
    const by = resources[0]?.by
    if (by === 'lease') return
    if (by === 'mode') throw new Error(`the server knows no resource ${JSON.stringify(resource)}`)
    await pause(LOOK_MS)
  }
}

async function load(rate: RateLease, forMs: number, print: (line: string) => void): Promise<void> {
  const until = AbortSignal.timeout(forMs)
  let taken = 0
  let sinceMs = performance.now()
  // Timers are late on a busy machine, so each line states the time in which its amount was taken.
  const tell = (): void => {
    const nowMs = performance.now()
    print(`${taken} taken in ${rounded((nowMs - sinceMs) / 1_000)} s, capacity ${rounded(rate.capacity)}`)
    taken = 0
    sinceMs = nowMs
  }
  const telling = setInterval(tell, 1_000)
  try {
    for (;;) {
      await rate.wait(until)
      taken++
      if (taken % TAKEN_AT_ONCE === 0) await turn()
    }
  } catch (error) {
    if (!until.aborted) throw error
    tell()
  } finally {
    clearInterval(telling)
  }
}
