import { keyedHash, keyFrom, type Words } from '../hash.js'
import { secretRandom } from '../random.js'

/** Longest flow name, in UTF-16 units, that mechanisms, logs and remote stores ever see. */
export const MAX_FLOW_LENGTH = 256

const HASH_LENGTH = 17

let ownKey: Words | undefined
const words: Words = { a: 0, b: 0 }

/**
 * The name by which a flow is known inside: the name itself up to {@link MAX_FLOW_LENGTH} units, which includes every
 * name that was shortened before. Of a longer name: its head, and a keyed 64-bit hash of the whole. Two long names stay
 * two flows, and without the key nobody can make a name that is another's, unless somebody showed it to them. A pair of
 * surrogates is not cut in two. Without `key`, the hash has a key that this process draws for itself. O(length).
 */
export function flowName(flow: string, key?: Words): string {
  if (flow.length <= MAX_FLOW_LENGTH) return flow
  // Not before the first long name comes: some platforms have no randomness until the first request.
  ownKey ??= keyFrom(secretRandom)
  keyedHash(flow, key ?? ownKey, words)
  return `${headOf(flow, MAX_FLOW_LENGTH - HASH_LENGTH)}~${hex(words.a)}${hex(words.b)}`
}

/** The first `length` units, or one less where the cut would go through a pair of surrogates. */
function headOf(flow: string, length: number): string {
  const isPair = flow.codePointAt(length - 1)! > 0xffff
  return flow.slice(0, isPair ? length - 1 : length)
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
