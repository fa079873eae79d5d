import { keyedHash, keyFrom, type Words } from '../hash.js'
import { secretRandom } from '../random.js'

/** Longest flow name, in UTF-16 units, that mechanisms, logs and remote stores ever see. */
export const MAX_FLOW_LENGTH = 256

const HASH_LENGTH = 17

let ownKey: Words | undefined
const words: Words = { a: 0, b: 0 }

/**
 * The name by which a flow is known inside: itself, unless it is so long that keeping and comparing it would be a
 * burden. Then its head and a keyed 64-bit hash of the whole: two long names stay two flows, and nobody who does not
 * know the key can choose a name that is another's. Only such a name is of the greatest length, so no name that is given
 * is one. Without `key`, under one that this process draws for itself. O(length).
 */
export function flowName(flow: string, key?: Words): string {
  if (flow.length < MAX_FLOW_LENGTH) return flow
  // Not before the first long name comes: some platforms have no randomness until the first request.
  ownKey ??= keyFrom(secretRandom)
  keyedHash(flow, key ?? ownKey, words)
  return `${flow.slice(0, MAX_FLOW_LENGTH - HASH_LENGTH)}~${hex(words.a)}${hex(words.b)}`
}

/** The key that all processes have which are given the same secret. */
export function keyOf(secret: string): Words {
  const key: Words = { a: 0, b: 0 }
  keyedHash(secret, key, key)
  return key
}

function hex(word: number): string {
  return (word >>> 0).toString(16).padStart(8, '0')
}
