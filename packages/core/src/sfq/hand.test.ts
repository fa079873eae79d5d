import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { deal, wordsOf } from './hand.js'

describe('a hand', () => {
  it('is every possible one, equally often, when the words are', () => {
    const seen = new Map<string, number>()
    const hand = new Int32Array(3)
    // One word in the middle of each card's part of the range: 8 × 7 × 6 deals.
    const word = (card: number, left: number): number => ((card + 0.5) / left) * 2 ** 32
    for (let a = 0; a < 8; a++)
      for (let b = 0; b < 7; b++)
        for (let c = 0; c < 6; c++) {
          deal(Uint32Array.of(word(a, 8), word(b, 7), word(c, 6)), 8, hand)
          seen.set(hand.join(), (seen.get(hand.join()) ?? 0) + 1)
        }
    expect(seen.size).toBe(8 * 7 * 6)
    expect(new Set(seen.values())).toEqual(new Set([1]))
    for (const cards of seen.keys()) expect(new Set(cards.split(',')).size).toBe(3)
  })

  it('holds distinct cards of the deck, for any words', () => {
    const words = fc.uint32Array({ minLength: 1, maxLength: 8 })
    fc.assert(
      fc.property(words, fc.integer({ min: 8, max: 65_536 }), (all, deck) => {
        const hand = new Int32Array(all.length)
        deal(all, deck, hand)
        expect(new Set(hand).size).toBe(all.length)
        for (const card of hand) expect(card >= 0 && card < deck).toBe(true)
      }),
    )
  })

  it('may be the whole deck', () => {
    const hand = new Int32Array(8)
    deal(new Uint32Array(8).fill(0xffff_ffff), 8, hand)
    expect([...hand].sort()).toEqual([0, 1, 2, 3, 4, 5, 6, 7])
  })

  it('is dealt evenly to names, and independently for every seed', () => {
    const flows = 20_000
    const words = new Uint32Array(3)
    const hand = new Int32Array(3)
    const counts = new Map<string, number>()
    let same = 0
    for (let i = 0; i < flows; i++) {
      const hands = [1, 2].map((seed) => {
        wordsOf(`tenant-${i}`, { a: seed, b: 0 }, words)
        deal(words, 8, hand)
        return [...hand].sort().join()
      })
      counts.set(hands[0]!, (counts.get(hands[0]!) ?? 0) + 1)
      if (hands[0] === hands[1]) same++
    }
    const expected = flows / 56
    const chiSquare = [...counts.values()].reduce((sum, n) => sum + (n - expected) ** 2 / expected, 0)
    expect(counts.size).toBe(56)
    // 55 degrees of freedom: above 93 once in a thousand; the names and seeds are fixed.
    expect(chiSquare).toBeLessThan(93)
    expect(same / flows).toBeLessThan(2 / 56)
  })
})
