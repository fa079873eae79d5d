import { keyedHash, keyFrom, type Words } from './hash.js'
import { fail, requireText } from './options.js'
import { secretRandom } from './random.js'

/**
 * The unit of fairness: a name; or a path of up to four names, as `['account', 'key']`: turns are then shared between
 * accounts, and within an account between its keys. Name one account by strings or by paths, not by both.
 */
export type Flow = string | readonly string[]

const MOST_LEVELS = 4
/** Keys of paths begin with this character, and no other key does. */
const MARK = '\u0000'

/**
 * The flow, checked, as a frozen copy. A path of one name becomes that name. Throws a `TypeError` or `RangeError` that
 * names what is wrong.
 */
export function requireFlow(flow: Flow): Flow {
  if (typeof flow === 'string') {
    requireText('flow', flow)
    return flow
  }
  if (!Array.isArray(flow)) fail('flow', 'a non-empty string or a path of them', flow)
  const path: readonly unknown[] = flow
  if (path.length === 0 || path.length > MOST_LEVELS) fail('flow', `a path of 1 to ${MOST_LEVELS} names`, path.length)
  for (const [level, name] of path.entries()) requireText(`flow[${level}]`, name)
  if (path.length === 1) return flow[0] as string
  return Object.isFrozen(flow) ? flow : Object.freeze([...flow])
}

/** The name of its first level. */
export function firstOf(flow: Flow): string {
  return typeof flow === 'string' ? flow : flow[0]!
}

/** Prefix of the flows of addresses. No name that a client sends begins with it alone: see {@link namedFlow}. */
export const ADDRESS = 'ip:'

/**
 * The flow of a name or path that a client may have chosen. A first name that begins with the prefix of addresses gets
 * the prefix a second time, so that a client cannot use the account of an address by sending that as a key.
 */
export function namedFlow(flow: Flow): Flow {
  const first = firstOf(flow)
  if (!first.startsWith(ADDRESS)) return flow
  return typeof flow === 'string' ? ADDRESS + first : [ADDRESS + first, ...flow.slice(1)]
}

/** A distinct string for each flow: a name itself, with a second mark if it begins with the mark of paths. */
export function keyOf(flow: Flow): string {
  if (typeof flow === 'string') return flow.charCodeAt(0) === 0 ? MARK + MARK + flow : flow
  return MARK + JSON.stringify(flow)
}

/** Engines copy substrings shorter than this. */
const ALWAYS_COPIED = 13

/**
 * The same text as a separate string, for names that outlive their request. Engines keep a substring as a view, so that
 * a name cut from a header keeps the whole header in memory. About 200 ns: call it when a name is first stored.
 */
export function ownCopy(name: string): string {
  return name.length < ALWAYS_COPIED ? name : [name[0], name.slice(1)].join('')
}

/** Longest flow name, in UTF-16 units, that reaches mechanisms, logs and remote stores. */
export const MAX_FLOW_LENGTH = 256

const HASH_LENGTH = 17

let ownKey: Words | undefined
const words: Words = { a: 0, b: 0 }

/**
 * A flow's internal name: the name itself if it has at most {@link MAX_FLOW_LENGTH} units, as every shortened name has.
 * A longer name is replaced by its head and a keyed 64-bit hash of the whole name. Two long names stay two flows.
 * Without the key, a client cannot construct a name with the hash of another name unless it has seen that hash.
 * Surrogate pairs stay whole. Without `key`, the process draws a random key. O(length).
 */
export function flowName(flow: string, key?: Words): string {
  if (flow.length <= MAX_FLOW_LENGTH) return flow
  // Drawn at the first long name: some platforms have no randomness before the first request.
  ownKey ??= keyFrom(secretRandom)
  keyedHash(flow, key ?? ownKey, words)
  const length = MAX_FLOW_LENGTH - HASH_LENGTH
  const isPairCut = flow.codePointAt(length - 1)! > 0xffff
  return `${flow.slice(0, isPairCut ? length - 1 : length)}~${hex(words.a)}${hex(words.b)}`
}

/** The hash key that follows from `secret`: the same in all processes with this secret. */
export function nameKeyOf(secret: string): Words {
  const key: Words = { a: 0, b: 0 }
  keyedHash(secret, key, key)
  return key
}

function hex(word: number): string {
  return (word >>> 0).toString(16).padStart(8, '0')
}
