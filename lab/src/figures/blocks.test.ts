import { describe, expect, it } from 'vitest'
import { withTables } from './blocks.js'
import type { Table } from './figure.js'

const TABLE: Table = { id: 'waits', title: 'Waits', head: ['', 'ours'], rows: [['light', '7.7']] }
const tableOf = (file: string, id: string): Table | undefined => (file === 'sfq' && id === 'waits' ? TABLE : undefined)
const page = (inside: string): string =>
  `Before.\n\n<!-- figures: sfq waits -->\n${inside}<!-- /figures -->\n\nAfter.\n`

describe('a block of figures in a page', () => {
  it('gets the table, and nothing around it changes', () => {
    const written = withTables(page('\n| old |\n|---|\n'), tableOf)
    expect(written).toBe(page('\n|  | ours |\n|---|---:|\n| light | 7.7 |\n\n'))
    expect(withTables(written, tableOf)).toBe(written)
    expect(withTables(page(''), tableOf)).toBe(written)
  })

  it('may be one of several', () => {
    const once = withTables(page(''), tableOf)
    expect(withTables(page('') + page('stale\n'), tableOf)).toBe(once + once)
    expect(withTables('No figures.', tableOf)).toBe('No figures.')
  })

  it('must name a table, and end', () => {
    expect(() => withTables(page('').replace('sfq waits', 'sfq wait'), tableOf)).toThrow(
      "docs/figures/sfq.json has no table 'wait'",
    )
    expect(() => withTables('<!-- figures: sfq waits -->\n| a |\n', tableOf)).toThrow('without an end')
    expect(() => withTables(`<!-- figures: sfq waits -->\n${page('')}`, tableOf)).toThrow('without an end')
  })
})
