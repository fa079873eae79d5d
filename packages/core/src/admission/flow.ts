import { keyedHash, keyFrom, type Words } from '../hash.js'
import { secretRandom } from '../random.js'

/** Longest flow name, in UTF-16 units, that mechanisms, logs and remote stores ever see. */
export const MAX_FLOW_LENGTH = 256

const HASH_LENGTH = 17

let key: Words | undefined
const words: Words = { a: 0, b: 0 }

/**
 * The name by which a flow is known inside: itself, unless it is so long that keeping and comparing it would be a
 * burden. Then its head and a hash of the whole, under a key that this process has drawn: two long names stay two flows,
 * also those that somebody has made to look alike. Only such a name has all of the 256 units. O(length).
 */
export function flowName(flow: string): string {
  if (flow.length < MAX_FLOW_LENGTH) return flow
  key ??= keyFrom(secretRandom)
  keyedHash(flow, key, words)
  return `${flow.slice(0, MAX_FLOW_LENGTH - HASH_LENGTH)}~${hex(words.a)}${hex(words.b)}`
}

function hex(word: number): string {
  return (word >>> 0).toString(16).padStart(8, '0')
}
