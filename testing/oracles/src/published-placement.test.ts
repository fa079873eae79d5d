import { readFileSync } from 'node:fs'
import { describe, expect, it } from 'vitest'
import { PublishedPlacement, publishedPlaces, publishedWords } from './published-placement.js'

interface HashVectors {
  L: number
  M: number
  vectors: { hex: string; by_seed: { seed: number; hash64: string; hashes: number[]; buckets: number[] }[] }[]
}

const published: HashVectors = JSON.parse(readFileSync(new URL('./fixtures/hash.json', import.meta.url), 'utf8'))
const hexWord = (word: number): string => (word >>> 0).toString(16).padStart(8, '0')

describe('the published placement', () => {
  it.each(published.vectors)('puts the bytes "$hex" where the library puts them', ({ hex, by_seed }) => {
    for (const { seed, hash64, buckets } of by_seed) {
      const words = publishedWords(Uint8Array.from(Buffer.from(hex, 'hex')), seed)
      expect(hexWord(words.b) + hexWord(words.a)).toBe(hash64)
      const places = new Int32Array(published.L)
      publishedPlaces(words.a, words.b, published.M, places)
      expect([...places]).toEqual(buckets)
    }
  })

  it('gives each structure a seed of its own, and the shadow its seed when it becomes live', () => {
    const seeds = [7, 8, 9]
    const placement = new PublishedPlacement(1000, () => seeds.shift()! / 2 ** 32)
    const at = (seed: number): number[] => {
      const { a, b } = publishedWords(new TextEncoder().encode('tenant-7'), seed)
      const places = new Int32Array(3)
      publishedPlaces(a, b, 1000, places)
      return [...places]
    }
    expect(placesOf(placement, 'tenant-7')).toEqual({ live: at(7), shadow: at(8) })
    placement.rotate()
    expect(placesOf(placement, 'tenant-7')).toEqual({ live: at(8), shadow: at(9) })
  })
})

function placesOf(placement: PublishedPlacement, flow: string, levels = 3): { live: number[]; shadow: number[] } {
  const key = { flow, a: 0, b: 0, c: 0, d: 0 }
  placement.digest(key)
  const live = new Int32Array(levels)
  const shadow = new Int32Array(levels)
  placement.place(key, 'live', live)
  placement.place(key, 'shadow', shadow)
  return { live: [...live], shadow: [...shadow] }
}
