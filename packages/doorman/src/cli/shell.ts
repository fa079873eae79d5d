import { createInterface } from 'node:readline'
import { setTimeout as sleep } from 'node:timers/promises'
import { DoormanClient, type GaugeLease, type Transport } from '@fairlead/core/doorman'
import { CONNECTION_FLAGS, connectionFrom, rounded } from './connection.js'
import { type Flags, flagsFrom } from './flags.js'

export const SHELL_FLAGS: Flags<keyof typeof CONNECTION_FLAGS> = CONNECTION_FLAGS

const HELP = `get CLIENT RESOURCE AMOUNT   a client wants this amount of a resource, from now on
release CLIENT RESOURCE      it wants none, and gives back what it has
show                         what everybody has
master                       where the master is
help, quit`

/** Interval of polling for the first answer, in milliseconds. */
const LOOK_MS = 20

/**
 * Simulates many clients, controlled by commands on `input`. Ends with `quit`, or with the input, and gives all
 * capacity back.
 */
export async function shell(
  args: readonly string[],
  input: NodeJS.ReadableStream,
  print: (line: string) => void,
): Promise<void> {
  const given = flagsFrom(SHELL_FLAGS, args)
  const players = new Players(await connectionFrom(given), print)
  const lines = createInterface({ input, terminal: false })
  print(HELP)
  try {
    for await (const line of lines) {
      const words = line.trim().split(/\s+/)
      if (words[0] === 'quit') break
      try {
        await players.command(words)
      } catch (error) {
        print(String(error))
      }
    }
  } finally {
    lines.close()
    await players.close()
  }
}

/** Clients, each created when a command first names it. */
class Players {
  readonly #transport: Transport
  readonly #print: (line: string) => void
  readonly #clients = new Map<string, { doorman: DoormanClient; leases: Map<string, GaugeLease> }>()

  constructor(transport: Transport, print: (line: string) => void) {
    this.#transport = transport
    this.#print = print
  }

  async command([command, client, resource, amount]: readonly string[]): Promise<void> {
    if (command === 'get' && client && resource && amount) await this.#get(client, resource, Number(amount))
    else if (command === 'release' && client && resource) this.#release(client, resource)
    else if (command === 'show') this.#show()
    else if (command === 'master') await this.#master()
    else if (command !== '') this.#print(HELP)
  }

  async close(): Promise<void> {
    await Promise.all([...this.#clients.values()].map(({ doorman }) => doorman.close()))
  }

  /** Waits for the answer to a resource's first question, so that commands from a file are answered one by one. */
  async #get(id: string, resource: string, wants: number): Promise<void> {
    let client = this.#clients.get(id)
    if (client === undefined) {
      client = { doorman: new DoormanClient({ transport: this.#transport, id }), leases: new Map() }
      this.#clients.set(id, client)
    }
    const present = client.leases.get(resource)
    if (present !== undefined) {
      present.setWants(wants)
      return
    }
    const lease = client.doorman.gauge(resource, { wants })
    client.leases.set(resource, lease)
    lease.onChange((capacity) => this.#print(`${id} ${resource}: ${rounded(capacity)}`))
    while (lease.snapshot().by === 'asking') await sleep(LOOK_MS)
  }

  #release(id: string, resource: string): void {
    const client = this.#clients.get(id)
    const lease = client?.leases.get(resource)
    if (lease === undefined) {
      this.#print(`${id} has no ${resource}`)
      return
    }
    client?.leases.delete(resource)
    lease.close()
    this.#print(`${id} ${resource}: released`)
  }

  #show(): void {
    for (const [id, { doorman, leases }] of this.#clients) {
      const { failures, lastError } = doorman.snapshot()
      for (const [resource, lease] of leases) {
        const { capacity, wants, by, leaseEndsInMs } = lease.snapshot()
        const until = leaseEndsInMs === undefined ? '' : `, ${Math.round(leaseEndsInMs / 1_000)} s left`
        this.#print(`${id} ${resource}: ${rounded(capacity)} of ${rounded(wants)} wanted, by ${by}${until}`)
      }
      if (failures > 0) this.#print(`${id}: ${lastError}`)
    }
    if (this.#clients.size === 0) this.#print('nobody wants anything')
  }

  async #master(): Promise<void> {
    const { mastership, isMaster } = await this.#transport.connect().discovery({})
    this.#print(`${mastership.masterAddress ?? 'nobody knows'}${isMaster ? ', the one that was asked' : ''}`)
  }
}
