import { describe, expect, it } from 'vitest'
import { DoormanServer } from '../server/index.js'
import { repositoryFrom } from './repository.js'

const RULE = 'algorithm: { kind: FAIR_SHARE, lease_length: 60, refresh_interval: 16 }'

describe('a configuration in YAML', () => {
  it('has the fields of the published one', () => {
    const text = `
resources:
  - identifier_glob: proportional
    capacity: 3000.5
    safe_capacity: -1
    description: for testing
    algorithm:
      kind: PROPORTIONAL_SHARE
      lease_length: 60
      refresh_interval: 15
      learning_mode_duration: 0
      parameters:
        - { name: decay_factor, value: 0.25 }
        - { name: weighted, value: true }
        - { name: compatible, value: published }
  - identifier_glob: "*"
    capacity: 0
    ${RULE}
`
    const repository = repositoryFrom(text)
    expect(repository).toEqual({
      resources: [
        {
          identifierGlob: 'proportional',
          capacity: 3000.5,
          safeCapacity: -1,
          description: 'for testing',
          algorithm: {
            kind: 'PROPORTIONAL_SHARE',
            leaseLength: 60,
            refreshInterval: 15,
            learningModeDuration: 0,
            parameters: [
              { name: 'decay_factor', value: '0.25' },
              { name: 'weighted', value: 'true' },
              { name: 'compatible', value: 'published' },
            ],
          },
        },
        {
          identifierGlob: '*',
          capacity: 0,
          algorithm: { kind: 'FAIR_SHARE', leaseLength: 60, refreshInterval: 16, parameters: [] },
        },
      ],
    })
    expect(() => new DoormanServer({ id: 'a', repository })).not.toThrow()
  })

  it.each([
    ['resources: [', /flow sequence|sequence/i],
    ['', 'the configuration must be an object'],
    ['resource: []', 'the configuration has no option "resource"'],
    ['resources: 7', 'resources must be a list, got 7'],
    [`resources: [{ capacity: 1, ${RULE} }]`, 'resources[0].identifier_glob must be a string, got undefined'],
    [`resources: [{ identifier_glob: "*", capacity: many, ${RULE} }]`, 'resources[0].capacity must be a number'],
    [
      `resources: [{ identifier_glob: "*", capacity: 1, capasity: 2, ${RULE} }]`,
      'resources[0] has no option "capasity"',
    ],
    ['resources: [{ identifier_glob: "*", capacity: 1 }]', 'resources[0].algorithm must be there'],
    [
      'resources: [{ identifier_glob: "*", capacity: 1, algorithm: { kind: STATIC, lease_length: 60 } }]',
      'resources[0].algorithm.refresh_interval must be a number, got undefined',
    ],
    [
      `resources: [{ identifier_glob: "*", capacity: 1, algorithm: { kind: STATIC, lease_length: 60, refresh_interval: 5,
        parameters: [{ name: a, value: [1] }] } }]`,
      'resources[0].algorithm.parameters[0].value must be one value, got an array',
    ],
  ])('is refused, by the place where it is wrong: %s', (text, message) => {
    expect(() => repositoryFrom(text)).toThrow(message)
  })
})
