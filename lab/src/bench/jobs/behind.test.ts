import { describe, expect, it } from 'vitest'
import { behind } from './behind.js'

describe('behind', () => {
  it('names the libraries that need clearly less than the first of ours', () => {
    const said = behind('time', [
      { name: 'ours', by: 'ours', value: 100 },
      { name: 'ours, bare', by: 'ours', value: 10 },
      { name: 'faster', by: 'peer', value: 25 },
      { name: 'alike', by: 'peer', value: 95 },
      { name: 'slower', by: 'peer', value: 300 },
      { name: 'nothing at all', by: 'floor', value: 1 },
    ])
    expect(said).toEqual(['Behind in time: faster needs 0.25 of what it takes here (ours).'])
  })
})
