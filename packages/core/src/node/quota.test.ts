import { describe, expect, it } from 'vitest'
import type { Tree } from './fixtures/cgroups.js'
import * as trees from './fixtures/cgroups.js'
import { quotaClock } from './machine.js'

const ms = (tree: Tree): number => quotaClock((path) => tree[path])()

/** The statistics of both versions: a quarter of a core, throttled for 1 234 ms. */
const V2 = 'usage_usec 5\nnr_periods 90\nnr_throttled 40\nthrottled_usec 1234000\nnr_bursts 0\n'
const V1 = 'nr_periods 90\nnr_throttled 40\nthrottled_time 1234000000\nburst_time 0\n'

describe('quotaClock', () => {
  it('is what a container under v2 counts, where there is a quota', () => {
    const tree = { ...trees.v2, '/sys/fs/cgroup/cpu.max': '25000 100000\n', '/sys/fs/cgroup/cpu.stat': V2 }
    expect(ms(tree)).toBe(1234)
    expect(ms({ ...tree, '/sys/fs/cgroup/cpu.max': 'max 100000\n' })).toBe(0)
  })

  it('adds up the groups above, each of which may hold the process up', () => {
    const slice = '/sys/fs/cgroup/system.slice'
    const tree = {
      ...trees.v2Nested,
      [`${slice}/cpu.max`]: '50000 100000\n',
      [`${slice}/cpu.stat`]: V2,
      [`${slice}/tenants.slice/cpu.max`]: '25000 100000\n',
      [`${slice}/tenants.slice/cpu.stat`]: V2,
    }
    expect(ms(tree)).toBe(2468)
  })

  it('is what v1 counts, alone or beside v2, also where the controller is mounted with another', () => {
    const cpu = '/sys/fs/cgroup/cpu'
    const own = { '/proc/self/cgroup': '4:cpu,cpuacct:/docker/7be92808767a667f\n0::/\n' }
    const tree = { ...own, [`${cpu}/cpu.cfs_quota_us`]: '25000\n', [`${cpu}/cpu.stat`]: V1 }
    expect(ms(tree)).toBe(1234)
    expect(ms({ ...tree, [`${cpu}/cpu.cfs_quota_us`]: '-1\n' })).toBe(0)
  })

  it('is 0 where nothing is known, and where the count is nonsense', () => {
    expect(ms(trees.none)).toBe(0)
    expect(ms({ ...trees.v2, '/sys/fs/cgroup/cpu.max': '25000 100000\n' })).toBe(0)
    expect(ms({ ...trees.v2, '/sys/fs/cgroup/cpu.max': '25000 100000\n', '/sys/fs/cgroup/cpu.stat': '?' })).toBe(0)
  })
})
