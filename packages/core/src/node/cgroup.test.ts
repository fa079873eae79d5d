import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import * as trees from './fixtures/cgroups.js'
import { GIB, MIB, type Tree } from './fixtures/cgroups.js'
import { limitedGroups } from './machine.js'

/** Limits and working sets in MiB. */
function groups(tree: Tree): [number, number][] {
  return limitedGroups((path) => tree[path], 16 * GIB).map((group) => [
    group.limitBytes / MIB,
    group.workingSetBytes() / MIB,
  ])
}

describe('limitedGroups', () => {
  it.each<[string, Tree, [number, number][]]>([
    ['cgroup v2 in a container', trees.v2, [[512, 256]]],
    [
      'cgroup v2, nested, the one above tighter and fuller',
      trees.v2Nested,
      [
        [2048, 240],
        [1024, 896],
      ],
    ],
    ['cgroup v2 with memory.high', trees.v2High, [[400, 256]]],
    ['cgroup v2 with max everywhere', trees.v2Unlimited, []],
    ['cgroup v1 whose path is that of the host', trees.v1, [[1024, 512]]],
    ['cgroup v1 without a limit', trees.v1Unlimited, []],
    [
      'both versions, the memory controller with another one in v1',
      trees.hybrid,
      [
        [2048, 1536],
        [4096, 1024],
      ],
    ],
    ['a group outside of the namespace', trees.outside, [[512, 256]]],
    ['no cgroups at all', trees.none, []],
  ])('reads %s', (_, tree, expected) => {
    expect(groups(tree)).toEqual(expected)
  })

  it.each(trees.garbled.map((tree) => [tree]))('takes no limit from garbled files (%#)', (tree) => {
    expect(groups(tree)).toEqual([])
  })

  it('takes a limit from the physical memory on for none', () => {
    expect(groups({ ...trees.v2, '/sys/fs/cgroup/memory.max': `${16 * GIB}\n` })).toEqual([])
    expect(groups({ ...trees.v2, '/sys/fs/cgroup/memory.max': `${15 * GIB}\n` })).toEqual([[15 * 1024, 256]])
  })

  it('counts the page cache as used where the statistics are missing or cut short', () => {
    for (const stat of ['', 'anon 5', 'inactive_file ', 'inactive_file 12x\n'])
      expect(groups({ ...trees.v2, '/sys/fs/cgroup/memory.stat': stat })).toEqual([[512, 384]])
  })

  it('is never below nothing: the two files are not read at the same instant', () => {
    expect(groups({ ...trees.v2, '/sys/fs/cgroup/memory.current': `${MIB}\n` })).toEqual([[512, 0]])
  })

  it('gives NaN for a use that cannot be read', () => {
    expect(groups({ ...trees.v2, '/sys/fs/cgroup/memory.current': 'soon\n' })).toEqual([[512, Number.NaN]])
  })

  it('survives any content', () => {
    fc.assert(
      fc.property(fc.dictionary(fc.constantFrom(...Object.keys(trees.v2Nested)), fc.string()), (tree) => {
        for (const [limit] of groups({ ...trees.v2, ...tree })) expect(limit).toBeGreaterThan(0)
      }),
    )
  })
})
