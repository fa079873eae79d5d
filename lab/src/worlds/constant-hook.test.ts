import { describe, expect, it } from 'vitest'
import { constantsOf, withConstant } from './constant-hook.js'

const source = `import { a } from './a.js';
/** Of which. */
const TURN_SECONDS = 2;
export const LEAST = 1e-9;
const MOST = 1_600;
const names = ['a'];
const LATER = TURN_SECONDS * 2;
`

describe('the constants of a module', () => {
  it('are those that are plain numbers', () => {
    expect([...constantsOf(source)]).toEqual([
      ['TURN_SECONDS', 2],
      ['LEAST', 1e-9],
      ['MOST', 1_600],
    ])
  })

  it('are changed one at a time', () => {
    const changed = withConstant(source, { file: '', name: 'MOST', value: 0.5 })
    expect(changed).toContain('const MOST = 0.5;')
    expect(changed.replace('0.5', '1_600')).toBe(source)
  })

  it('that are not there are told', () => {
    expect(() => withConstant(source, { file: '', name: 'LATER', value: 1 })).toThrow('no constant LATER')
  })
})
