import type { Algorithm } from '@fairlead/core/doorman'
import { describe, expect, it } from 'vitest'
import published from './fixtures/published-templates.json' with { type: 'json' }
import { type ResourceRepository, type ResourceTemplate, Templates } from './repository.js'

const FAIR: Algorithm = { kind: 'FAIR_SHARE', leaseLength: 60, refreshInterval: 16, parameters: [] }

function template(identifierGlob: string, change: Partial<ResourceTemplate> = {}, algorithm: Partial<Algorithm> = {}) {
  return { identifierGlob, capacity: 100, algorithm: { ...FAIR, ...algorithm }, ...change }
}

function parameter(name: string, value?: string): Partial<Algorithm> {
  return { parameters: [value === undefined ? { name } : { name, value }] }
}

describe('Templates', () => {
  it.each(published.match as [string[], string, number][])(
    '%j: %s is template %i, as published',
    (globs, name, index) => {
      const resources = globs.map((glob, capacity) => template(glob, { capacity }))
      expect(new Templates({ resources }).find(name)).toEqual(resources[index])
    },
  )

  it('takes the first of two templates of one name', () => {
    const resources = [template('a', { capacity: 1 }), template('a', { capacity: 2 }), template('*')]
    expect(new Templates({ resources }).find('a')).toEqual(resources[0])
  })

  it('stays as it was made, even if its source changes', () => {
    const resources = [template('*', { capacity: 1 })]
    const templates = new Templates({ resources })
    resources[0]!.capacity = 2
    expect(templates.find('a')).toEqual(template('*', { capacity: 1 }))
  })

  it.each<[string, ResourceTemplate[], string]>([
    ['nothing', [], 'must contain an entry for "*"'],
    ['no *', [template('a')], 'must contain an entry for "*"'],
    ['* not last', [template('*'), template('a')], 'the entry for "*" must be the last one'],
    ['two *', [template('*'), template('*')], 'the entry for "*" must be the last one'],
    ['a malformed glob', [template('[a'), template('*')], 'syntax error in pattern "[a"'],
    [
      'a negative capacity',
      [template('*', { capacity: -1 })],
      'capacity of "*" must be a number from 0 to 1000000000000000',
    ],
    ['safeCapacity below -1', [template('*', { safeCapacity: -2 })], 'safeCapacity of "*" must be a number >= -1'],
    ['a capacity without end', [template('*', { capacity: 2e15 })], 'capacity of "*" must be a number from 0 to 10000'],
    ['safeCapacity -0.5', [template('*', { safeCapacity: -0.5 })], 'safeCapacity of "*" must be a number >= 0, or -1'],
    ['refresh 0', [template('*', {}, { refreshInterval: 0 })], 'refreshInterval of "*" must be an integer >= 1, got 0'],
    ['lease 0', [template('*', {}, { leaseLength: 0 })], 'leaseLength of "*" must be an integer >= 16, got 0'],
    ['lease < refresh', [template('*', {}, { leaseLength: 15 })], 'leaseLength of "*" must be an integer >= 16'],
    ['learning < 0', [template('*', {}, { learningModeDuration: -1 })], 'learningModeDuration of "*" must be'],
    [
      'an unknown parameter',
      [template('*', {}, parameter('headrom', '0'))],
      'parameters of "*" has no option "headrom"',
    ],
    ['a parameter that is no number', [template('*', {}, parameter('headroom', 'a'))], 'headroom of "*" must be'],
    ['a parameter without value', [template('*', {}, parameter('headroom'))], 'headroom of "*" must be'],
    ['confirm as a number', [template('*', {}, parameter('confirm', '0'))], 'confirm of "*" must be true or false'],
    ['an invalid compatible', [template('*', {}, parameter('compatible', 'x'))], 'compatible of "*" must be one of'],
    ['a share above 1', [template('*', {}, parameter('minimum_share:0', '2'))], 'minimum_share:0 of "*" must be'],
    ['a share of no band', [template('*', {}, parameter('minimum_share:', '0.1'))], 'the priority in minimum_share:'],
  ])('refuses %s', (_, resources, message) => {
    expect(() => new Templates({ resources })).toThrow(message)
  })

  it.each<[unknown, string]>([
    [null, 'the resource repository must be an object, got null'],
    [{}, 'resources must be a list, got undefined'],
    [{ resources: null }, 'resources must be a list, got null'],
    [{ resources: 'x' }, 'resources must be a list, got "x"'],
    [{ resources: [null] }, 'resources[0] must be an object, got null'],
    [{ resources: [{ identifier_glob: '*' }] }, 'resources[0] has no option "identifier_glob"'],
    [{ resources: [{ capacity: 1 }] }, 'identifierGlob of resources[0] must be a text, got undefined'],
    [{ resources: [{ ...template('*'), algorithm: undefined }] }, 'algorithm of "*" must be an object, got undefined'],
    [{ resources: [{ ...template('*'), description: 5 }] }, 'description of "*" must be a text, got 5'],
    [{ resources: [template('*', {}, { parameters: undefined as never })] }, 'parameters of "*" must be a list'],
    [{ resources: [template('*', {}, { parameters: 'x' as never })] }, 'parameters of "*" must be a list, got "x"'],
    [{ resources: [template('*', {}, { parameters: [null] as never })] }, 'a parameter of "*" must be an object'],
    [{ resources: [template('*', {}, { parameters: [{}] as never })] }, 'the name of a parameter of "*" must be'],
    [{ resources: [template('*', {}, parameter('headroom', 1 as never))] }, 'headroom of "*" must be a text, got 1'],
  ])('refuses by name what is no repository: %j', (repository, message) => {
    expect(() => new Templates(repository as ResourceRepository)).toThrow(message)
  })

  it('refuses minimum shares that come to more than everything', () => {
    const parameters = [1, 2].map((priority) => ({ name: `minimum_share:${priority}`, value: '0.6' }))
    expect(() => new Templates({ resources: [template('*', {}, { parameters })] })).toThrow(
      'the sum of minimum shares of "*" must be a number from 0 to 1, got 1.2',
    )
  })

  it('accepts what it should', () => {
    const parameters = [
      { name: 'compatible', value: 'published' },
      { name: 'confirm', value: 'false' },
      { name: 'headroom', value: '0' },
      { name: 'weighted', value: 'true' },
      { name: 'decay_factor', value: '0.25' },
      { name: 'minimum_share:-1', value: '0.1' },
    ]
    const algorithm = { leaseLength: 16, learningModeDuration: 0, parameters }
    const resources = [template('*', { safeCapacity: -1, capacity: 0 }, algorithm)]
    expect(new Templates({ resources }).find('anything')).toEqual(resources[0])
  })
})
