import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { DigitReader, DigitWriter } from './digits.js'

/** What is left of a value that was written, and its text. */
function through<Value>(write: (to: DigitWriter) => DigitWriter, read: (from: DigitReader) => Value): [Value, string] {
  const { text } = write(new DigitWriter())
  const from = new DigitReader(text)
  const value = read(from)
  from.end()
  return [value, text]
}

const decimal = (value: number, digits?: number): [number, string] =>
  through(
    (to) => to.decimal(value, digits),
    (from) => from.decimal(-1e300, 1e300),
  )

describe('digits', () => {
  it('keep whole numbers, in one character up to 45 and two up to 2115', () => {
    const count = (value: number) =>
      through(
        (to) => to.count(value),
        (from) => from.count(),
      )
    for (const [value, length] of [
      [0, 1],
      [45, 1],
      [46, 2],
      [2115, 2],
      [2116, 3],
    ] as const)
      expect([count(value)[0], count(value)[1].length]).toEqual([value, length])
    fc.assert(fc.property(fc.maxSafeNat(), (value) => void expect(count(value)[0]).toBe(value)))
    const half = fc.integer({ min: -(2 ** 51), max: 2 ** 51 })
    fc.assert(
      fc.property(half, (value) => {
        const [kept] = through(
          (to) => to.whole(value),
          (from) => from.whole(),
        )
        expect(kept).toBe(value)
      }),
    )
  })

  it('keep as many significant digits of a number as are wanted', () => {
    const numbers = fc.double({ min: -1e15, max: 1e15, noNaN: true }).filter((value) => !Object.is(value, -0))
    fc.assert(
      fc.property(numbers, fc.integer({ min: 1, max: 15 }), (value, digits) => {
        const [kept] = decimal(value, digits)
        const isPlain = Number.isInteger(value) && value >= 0 && value < 10_000
        expect(kept).toBe(isPlain ? value : Number(value.toPrecision(digits)))
      }),
    )
    expect(decimal(22_100_000)[1].length).toBe(3)
  })

  it('have only characters that JSON does not escape, and no end of a line', () => {
    fc.assert(
      fc.property(fc.array(fc.double({ noNaN: true, noDefaultInfinity: true })), (values) => {
        const to = new DigitWriter()
        for (const value of values) to.decimal(value)
        expect(JSON.stringify(to.text)).toHaveLength(to.text.length + 2)
        expect(to.text).toMatch(/^[!-~]*$/)
      }),
    )
  })

  it.each(['a', '"', '\\', 'a\nb', '\r\u2028\u0000', '\ud800', 'é😀', 'x'.repeat(256)])(
    'keep the text %j, on one line',
    (value) => {
      const [kept, text] = through(
        (to) => to.string(value),
        (from) => from.string(256),
      )
      expect(kept).toBe(value)
      expect(text).not.toMatch(/[\n\r]/)
    },
  )

  it('of what is no number, or beyond the bounds, cannot be read', () => {
    for (const value of [Number.NaN, Number.POSITIVE_INFINITY, -1, 0.5, 2 ** 60]) {
      const { text } = new DigitWriter().count(value)
      expect(() => new DigitReader(text).count()).toThrow()
    }
    for (const value of [Number.NaN, Number.NEGATIVE_INFINITY]) {
      const { text } = new DigitWriter().decimal(value)
      expect(() => new DigitReader(text).decimal(-1e300, 1e300)).toThrow()
    }
    expect(() => new DigitReader(new DigitWriter().count(7).text).count(6)).toThrow()
    expect(() => new DigitReader(new DigitWriter().decimal(-7).text).decimal(0, 7)).toThrow()
    expect(() => new DigitReader(new DigitWriter().string('long').text).string(3)).toThrow()
    expect(() => new DigitReader('').count()).toThrow()
    expect(() => new DigitReader('~~~~~~~~~~~~~~~~').count()).toThrow()
    expect(() => new DigitReader('!!').end()).toThrow()
  })
})
