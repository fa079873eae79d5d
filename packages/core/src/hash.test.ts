import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { keyedHash, type Words } from './hash.js'

/**
 * `vectors_hsip64` of the reference code (github.com/veorq/SipHash): the key is the bytes 0 to 7, text number n the
 * first 2 n of the bytes 0, 1, 2, … (texts of UTF-16 units have an even number of bytes).
 */
const REFERENCE = [
  '218d1f59b9b83cc8',
  '064f39ef7c50eb57',
  'd5e78a175be52ea1',
  'ce3e91358aa2bc25',
  'edfee820bce4858c',
  '95b0469f06a6f2ee',
  '7bc71f9faef5c799',
  '3bb1a870eae8e658',
  '7336aad25f7bf3b5',
  'c9b2db2b9a3e42f9',
  '1bf52b0a6feea7db',
  'e20103fa1ba776ef',
  '70741045ae3fa6f1',
  '0d899ed8112923f0',
  '2d925ffb1e0016b5',
  '291aaf864898179d',
  '28709d46d811626c',
  '8324e4d7528f9830',
  '86d67a40ec4276dc',
  'cbd92ee724d42109',
  '5b38c81c67c8ae4c',
  'a91a52c025327024',
  '1e30f3ad27dcb15a',
  '495c0f995557dc38',
  'a9eaa8c04ba93e3e',
  '912d568fd8f65a49',
  '02445a7998f550e1',
  '359569e7d289e3bc',
  'a1a492f942f15f1d',
  '5d1b5ea1b231d89d',
  'd6762890bf26e460',
  'f90b3ab572d46693',
]
const REFERENCE_KEY: Words = { a: 0x03020100, b: 0x07060504 }

/** The first `units` pairs of the bytes 0, 1, 2, … */
function counting(units: number): string {
  return String.fromCharCode(...Array.from({ length: units }, (_, i) => (2 * i) | ((2 * i + 1) << 8)))
}

function hashed(text: string, key: Words, ...rounds: [perBlock?: number, atEnd?: number]): Words {
  const into: Words = { a: 0, b: 0 }
  keyedHash(text, key, into, ...rounds)
  return into
}

/** The eight bytes of the output, in order. */
function bytes({ a, b }: Words): string {
  const output = new DataView(new ArrayBuffer(8))
  output.setInt32(0, a, true)
  output.setInt32(4, b, true)
  return Array.from({ length: 8 }, (_, i) => output.getUint8(i).toString(16).padStart(2, '0')).join('')
}

describe('keyedHash', () => {
  it('with two and four rounds, is HalfSipHash-2-4 with 64 bits of output', () => {
    expect(REFERENCE.map((_, units) => bytes(hashed(counting(units), REFERENCE_KEY, 2, 4)))).toEqual(REFERENCE)
  })

  it('depends on each half of the key', () => {
    const { a, b } = REFERENCE_KEY
    const hashes = [REFERENCE_KEY, { a: a ^ 1, b }, { a, b: b ^ 1 }].map((key) => bytes(hashed('tenant-acme', key)))
    expect(new Set(hashes).size).toBe(3)
  })

  it('tells texts apart that differ in any unit, in its high byte or in their length', () => {
    fc.assert(
      fc.property(fc.string({ minLength: 1, maxLength: 40 }), fc.nat(), fc.nat(15), (text, at, bit) => {
        const unit = at % text.length
        const other = String.fromCharCode(text.charCodeAt(unit) ^ (1 << bit))
        const changed = text.slice(0, unit) + other + text.slice(unit + 1)
        const hash = bytes(hashed(text, REFERENCE_KEY))
        for (const different of [changed, `${text}\0`, text.slice(0, -1)])
          expect(bytes(hashed(different, REFERENCE_KEY))).not.toBe(hash)
      }),
    )
  })
})
