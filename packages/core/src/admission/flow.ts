import { keyedHash, keyFrom, type Words } from '../hash.js'
import { secretRandom } from '../random.js'

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
  return `${headOf(flow, MAX_FLOW_LENGTH - HASH_LENGTH)}~${hex(words.a)}${hex(words.b)}`
}

/** The first `length` units, or one less if the cut would split a surrogate pair. */
function headOf(flow: string, length: number): string {
  const isPair = flow.codePointAt(length - 1)! > 0xffff
  return flow.slice(0, isPair ? length - 1 : length)
}

/** The hash key that follows from `secret`: the same in all processes with this secret. */
export function keyOf(secret: string): Words {
  const key: Words = { a: 0, b: 0 }
  keyedHash(secret, key, key)
  return key
}

function hex(word: number): string {
  return (word >>> 0).toString(16).padStart(8, '0')
}
