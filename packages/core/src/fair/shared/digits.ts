// Numbers and texts in few characters, none of which JSON or a line has to escape.

const BASE = 46
/** As the last digit of a number, then as another one. */
const CHARACTERS: string = /* @__PURE__ */ characters()
/** Whole numbers below this are shorter without an exponent. */
const MOST_PLAIN = 10_000

function characters(): string {
  const printable = Array.from({ length: 94 }, (_, i) => String.fromCharCode(33 + i))
  return printable.filter((each) => each !== '"' && each !== '\\').join('')
}

/**
 * Writes numbers in base 46: the lowest digit first, and the last one in characters of its own, so nothing separates.
 */
export class DigitWriter {
  text = ''

  /** A whole number, 0 or above. Any other number makes the whole text malformed. */
  count(value: number): this {
    let rest = value
    for (; rest >= BASE && rest <= Number.MAX_SAFE_INTEGER; rest = Math.floor(rest / BASE))
      this.text += CHARACTERS[BASE + (rest % BASE)] ?? ' '
    this.text += (rest < BASE ? CHARACTERS[rest] : undefined) ?? ' '
    return this
  }

  /** A whole number. */
  whole(value: number): this {
    return this.count(value < 0 ? -2 * value - 1 : 2 * value)
  }

  /** A number with this many significant digits. */
  decimal(value: number, digits = 4): this {
    if (Number.isInteger(value) && value >= 0 && value < MOST_PLAIN) return this.count(2 * value)
    const [shown = '', power] = Math.abs(value)
      .toExponential(digits - 1)
      .split('e')
    const mantissa = shown.replace('.', '').replace(/0+$/, '')
    const exponent = Number(power) - mantissa.length + 1
    const zigzag = exponent < 0 ? -2 * exponent - 1 : 2 * exponent
    return this.count(2 * Number(mantissa) + 1).count(2 * zigzag + (value < 0 ? 1 : 0))
  }

  string(value: string): this {
    const escaped = JSON.stringify(value).slice(1, -1)
    this.count(escaped.length).text += escaped
    return this
  }
}

/** Of a text that cannot be read. */
export const MALFORMED: Error = /* @__PURE__ */ new Error('not what was packed')

/**
 * Reads what {@link DigitWriter} has written. Throws {@link MALFORMED} for anything else, and for numbers beyond
 * bounds.
 */
export class DigitReader {
  readonly #text: string
  #at = 0

  constructor(text: string) {
    this.#text = text
  }

  count(most: number = Number.MAX_SAFE_INTEGER): number {
    let value = 0
    for (let unit = 1; unit <= Number.MAX_SAFE_INTEGER; unit *= BASE) {
      const digit = CHARACTERS.indexOf(this.#text[this.#at++] ?? ' ')
      if (digit < 0) break
      value += unit * (digit % BASE)
      if (digit < BASE) return within(value, 0, most)
    }
    throw MALFORMED
  }

  whole(): number {
    const zigzag = this.count()
    return zigzag % 2 === 0 ? zigzag / 2 : -(zigzag + 1) / 2
  }

  decimal(least: number, most: number): number {
    const first = this.count()
    if (first % 2 === 0) return within(first / 2, least, most)
    const second = this.count()
    const zigzag = Math.floor(second / 2)
    const exponent = zigzag % 2 === 0 ? zigzag / 2 : -(zigzag + 1) / 2
    const value = Number(`${(first - 1) / 2}e${exponent}`)
    return within(second % 2 === 0 ? value : -value, least, most)
  }

  /** Not empty. */
  string(longest: number): string {
    // An escaped character has up to six.
    const length = this.count(6 * longest)
    const escaped = this.#text.slice(this.#at, this.#at + length)
    this.#at += length
    const value: unknown = escaped.length === length ? JSON.parse(`"${escaped}"`) : ''
    if (typeof value !== 'string' || value.length === 0 || value.length > longest) throw MALFORMED
    return value
  }

  /** Nothing may follow. */
  end(): void {
    if (this.#at !== this.#text.length) throw MALFORMED
  }
}

function within(value: number, least: number, most: number): number {
  if (value >= least && value <= most) return value
  throw MALFORMED
}
