import { describe, expect, it } from 'vitest'
import { parseAside } from './configuration.js'

describe('parseAside', () => {
  it('reads YAML while others have their turn', async () => {
    let turned = false
    setImmediate(() => {
      turned = true
    })
    expect(await parseAside('resources: [{ identifier_glob: "*", capacity: 1 }]')).toEqual({
      resources: [{ identifier_glob: '*', capacity: 1 }],
    })
    expect(turned).toBe(true)
  })

  it('says what is wrong, and where', async () => {
    await expect(parseAside('resources: [')).rejects.toThrow(/YAMLParseError: .* at line 1/)
  })
})
