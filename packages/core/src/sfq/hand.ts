import { keyedHash, mix32, type Words } from '../hash.js'

/** Most cards in a hand. */
export const MOST_CARDS = 8

/**
 * Deals a hand of distinct cards, 0 to `deck` - 1, from one independent 32-bit word per card.
 *
 * Card i is one of the deck - i that are left, each as likely to within (deck - i) / 2^32. O(hand²), no big numbers,
 * nothing allocated. In `hand` the cards lie in the order in which they were dealt: none is preferred for its number.
 *
 * @see C. MacCárthaigh, "Workload isolation using shuffle-sharding", Amazon Builders' Library
 */
export function deal(words: Uint32Array, deck: number, hand: Int32Array): void {
  for (let i = 0; i < hand.length; i++) {
    let card = Math.floor((words[i]! * (deck - i)) / 0x1_0000_0000)
    let place = 0
    // The earlier cards, ascending: each that is not above takes a number away below this one.
    for (; place < i && sorted[place]! <= card; place++) card++
    sorted.copyWithin(place + 1, place, i)
    sorted[place] = card
    hand[i] = card
  }
}

/** Writes a word per card, for {@link deal}: another flow, key or card, and the word has nothing to do with it. */
export function wordsOf(flow: string, key: Words, into: Uint32Array): void {
  keyedHash(flow, key, words)
  for (let i = 0; i < into.length; i++) into[i] = mix32(mix32(words.a + Math.imul(i + 1, 0x9e3779b9)) ^ words.b)
}

const sorted = new Int32Array(MOST_CARDS)
const words: Words = { a: 0, b: 0 }
