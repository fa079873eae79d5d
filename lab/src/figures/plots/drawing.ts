import { COLOURS, FAINT, INK } from './style.js'

interface TextStyle {
  size?: number
  bold?: boolean
  faint?: boolean
  anchor?: 'start' | 'middle' | 'end'
}

interface LineStyle {
  color?: keyof typeof COLOURS
  arrow?: boolean
  dashed?: boolean
}

/** A drawing of boxes, arrows and words without axes, as an SVG document. Lengths in pixels. */
export class Drawing {
  readonly #width: number
  readonly #height: number
  readonly #parts: string[] = []

  constructor(width: number, height: number) {
    this.#width = width
    this.#height = height
  }

  text(
    x: number,
    y: number,
    text: string,
    { size = 13, bold = false, faint = false, anchor = 'start' }: TextStyle = {},
  ): this {
    const weight = bold ? ' font-weight="bold"' : ''
    for (const [i, line] of text.split('\n').entries())
      this.#parts.push(
        `<text x="${x}" y="${y + i * (size + 5)}" font-size="${size}" fill="${faint ? FAINT : INK}" text-anchor="${anchor}"${weight}>${escaped(line)}</text>`,
      )
    return this
  }

  /** A box with a name and a description below it. */
  box(
    x: number,
    y: number,
    width: number,
    height: number,
    name: string,
    about = '',
    color: keyof typeof COLOURS = 'blue',
  ): this {
    this.rect(x, y, width, height, color, 0.12)
    this.text(x + width / 2, y + 22, name, { bold: true, anchor: 'middle', size: 14 })
    return this.text(x + width / 2, y + 42, about, { anchor: 'middle', size: 12, faint: true })
  }

  rect(x: number, y: number, width: number, height: number, color: keyof typeof COLOURS, opacity = 1): this {
    const fill = COLOURS[color]
    this.#parts.push(
      `<rect x="${x}" y="${y}" width="${width}" height="${height}" rx="4" fill="${fill}" fill-opacity="${opacity}" stroke="${fill}"/>`,
    )
    return this
  }

  line(
    from: readonly [number, number],
    to: readonly [number, number],
    { color = 'grey', arrow = false, dashed = false }: LineStyle = {},
  ): this {
    const ends = `x1="${from[0]}" y1="${from[1]}" x2="${to[0]}" y2="${to[1]}"`
    const dash = dashed ? ' stroke-dasharray="5 4"' : ''
    const stroke = COLOURS[color]
    this.#parts.push(`<line ${ends} stroke="${stroke}" stroke-width="2"${dash}/>`)
    if (arrow) {
      const angle = (180 / Math.PI) * Math.atan2(to[1] - from[1], to[0] - from[0])
      const at = `translate(${to[0]} ${to[1]}) rotate(${angle.toFixed(1)})`
      this.#parts.push(`<path d="M0 0 L-10 5 L-10 -5 Z" fill="${stroke}" transform="${at}"/>`)
    }
    return this
  }

  toString(): string {
    const size = `width="${this.#width}" height="${this.#height}" viewBox="0 0 ${this.#width} ${this.#height}"`
    const font = 'font-family="Helvetica, Arial, DejaVu Sans, sans-serif"'
    const back = `<rect width="${this.#width}" height="${this.#height}" fill="#ffffff"/>`
    return `<svg xmlns="http://www.w3.org/2000/svg" ${size} ${font}>\n${[back, ...this.#parts].join('\n')}\n</svg>`
  }
}

function escaped(text: string): string {
  return text.replaceAll('&', '&amp;').replaceAll('<', '&lt;')
}
