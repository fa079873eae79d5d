import { ADDRESS, ownCopy } from '../path.js'
import type { OnWarning } from './mistakes.js'

/** The one flow of all requests without a known client address. */
export const UNKNOWN_ADDRESS = 'ip:unknown'

const MOST_REMEMBERED = 1_000

/** Consecutive requests without an address, answered to their end, that count as a mistake. */
const ANSWERED_WITHOUT = 10

/**
 * The flow of a client's address, `ip:203.0.113.5` or `ip:2001:db8::/56`, or undefined if `address` is not an address.
 *
 * One IPv4 address is one flow, however it is spelt: alone, with a port, inside IPv6 (`::ffff:1.2.3.4`,
 * `::ffff:102:304`) or behind the well-known NAT64 prefix, where a cut prefix would make one flow of all clients. IPv6
 * is cut to `ipv6Prefix` bits, because one client holds all addresses under such a prefix; ranges without subnets
 * (loopback, link-local, a local NAT64) are left whole.
 */
export function addressFlow(address: string, ipv6Prefix: number): string | undefined {
  if (address.length > LONGEST_ADDRESS) return undefined
  const inner = BRACKETED.exec(address)?.[1] ?? address
  const bytes = DOTTED.exec(inner)?.slice(1, 5).map(Number)
  if (bytes?.every((byte) => byte <= 255)) return ADDRESS + bytes.join('.')
  const groups = groupsOf(inner.split('%', 1)[0]!)
  if (groups === undefined) return undefined
  const text = hex(groups)
  if (HOLDS_IPV4.test(text)) return ADDRESS + dotted(groups.slice(6))
  if (HAS_NO_SUBNETS.test(text) || ipv6Prefix === 128) return ADDRESS + canonical(text)
  return `${ADDRESS}${canonical(hex(cut(groups, ipv6Prefix)))}/${ipv6Prefix}`
}

/** Names flows by address, remembers recent addresses, and warns once about invalid ones. */
export class AddressFlows {
  readonly #ipv6Prefix: number
  readonly #warn: OnWarning
  readonly #recent = new Map<string, string>()
  #without = 0

  constructor(ipv6Prefix: number, warn: OnWarning) {
    this.#ipv6Prefix = ipv6Prefix
    this.#warn = warn
  }

  /** Never throws. About 30 ns for an address seen lately, two microseconds for a new one. */
  flow(address: string | undefined): string {
    // Whether a missing address is a mistake is known only at the end: a client that has left has no address either.
    if (typeof address !== 'string') return UNKNOWN_ADDRESS
    const known = this.#recent.get(address)
    if (known !== undefined) return known
    const flow = addressFlow(address, this.#ipv6Prefix)
    if (flow === undefined) {
      this.#unknown('not an IP address')
      return UNKNOWN_ADDRESS
    }
    // Forgetting all at once is as good as forgetting the oldest, and costs nothing per request.
    if (this.#recent.size >= MOST_REMEMBERED) this.#recent.clear()
    this.#recent.set(ownCopy(address), flow)
    return flow
  }

  /**
   * A request named by its address was answered to its end. Its client was connected, with rare exceptions: a reset
   * that arrived while the answer was in transit.
   */
  answered(hadAddress: boolean): void {
    this.#without = hadAddress ? 0 : this.#without + 1
    if (this.#without === ANSWERED_WITHOUT) this.#unknown('there is none (a Unix socket, or a proxy that does not say)')
  }

  #unknown(why: string): void {
    this.#warn(
      `No client address to name a flow by: ${why}. Such requests share the flow '${UNKNOWN_ADDRESS}'; ` +
        'set the option flow, or the trusted proxies.',
    )
  }
}

/**
 * `::ffff:0:0/96`: an IPv4 client on a socket that listens for both; `64:ff9b::/96`: behind a translator (RFC 6052).
 */
const HOLDS_IPV4 = /^(0:0:0:0:0:ffff|64:ff9b:0:0:0:0):/
/** `::/64` (loopback), `fe80::/10` (link-local), `64:ff9b:1::/48` (NAT64 with a prefix of one's own, RFC 8215). */
const HAS_NO_SUBNETS = /^(0:0:0:0|fe[89ab].|64:ff9b:1):/

function cut(groups: readonly number[], bits: number): number[] {
  return groups.map((group, i) => {
    const rest = Math.min(16, Math.max(0, 16 * (i + 1) - bits))
    return (group >> rest) << rest
  })
}

function hex(groups: readonly number[]): string {
  return groups.map((group) => group.toString(16)).join(':')
}

/** Hexadecimal groups in their canonical form (RFC 5952), which the URL parser makes. */
function canonical(groups: string): string {
  return new URL(`http://[${groups}]`).hostname.slice(1, -1)
}

function dotted(groups: readonly number[]): string {
  return groups.flatMap((group) => [group >> 8, group & 255]).join('.')
}

/** Longest address, in UTF-16 units, with zone id and port. Brackets, port and zone id are dropped. */
const LONGEST_ADDRESS = 100
const BRACKETED = /^\[([^\]]*)\](?::\d{1,5})?$/
const DOTTED = /^(\d{1,3})\.(\d{1,3})\.(\d{1,3})\.(\d{1,3})(?::\d{1,5})?$/
const GROUPS = /^[0-9a-f:.]+$/i

/** The eight 16-bit groups of an IPv6 address; undefined for anything else. */
function groupsOf(text: string): number[] | undefined {
  if (!GROUPS.test(text) || !URL.canParse(`http://[${text}]`)) return undefined
  const [head = [], tail = []] = canonical(text)
    .split('::')
    .map((run) => (run === '' ? [] : run.split(':').map((group) => Number.parseInt(group, 16))))
  return [...head, ...new Array<number>(8 - head.length - tail.length).fill(0), ...tail]
}
