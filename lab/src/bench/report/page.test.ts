import { describe, expect, it } from 'vitest'
import { type Measured, page } from './page.js'

const SECTION: Measured = {
  file: 'bench-x',
  title: 'A job',
  about: ['word '.repeat(60).trim()],
  machine: 'a machine, 2 cores',
  tables: [
    {
      title: 'Cost',
      head: ['', 'ns', 'ratio'],
      rows: [
        ['ours', '10', '1.00'],
        ['theirs', '5', '0.50'],
      ],
    },
  ],
  remarks: [`Behind: ${'theirs '.repeat(30).trim()}.`],
  shows: 'two bars',
}

describe('page', () => {
  const text = page([SECTION, { ...SECTION, title: 'Another' }])

  it('has a chapter for each section, in their order', () => {
    expect(text.match(/^## .*$/gm)).toEqual(['## A job', '## Another'])
    expect(text).toContain('Measured on: a machine, 2 cores.')
    expect(text).toContain('![two bars](figures/bench-x.svg)')
  })

  it('writes tables with numbers to the right', () => {
    expect(text).toContain('|  | ns | ratio |\n|---|---:|---:|\n| ours | 10 | 1.00 |\n| theirs | 5 | 0.50 |\n')
  })

  it('breaks prose between words, and loses none', () => {
    for (const line of text.split('\n')) expect(line.length).toBeLessThanOrEqual(120)
    expect(text.match(/\bword\b/g)).toHaveLength(2 * 60)
    expect(text.match(/\btheirs\b/g)).toHaveLength(2 * 31)
  })
})
