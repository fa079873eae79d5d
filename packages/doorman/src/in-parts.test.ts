import { inProcess } from '@fairlead/core/doorman'
import { describe, expect, it, vi } from 'vitest'
import { fairShare } from './fixtures/repository.js'
import { inParts } from './in-parts.js'
import { DoormanServer, type DoormanServerLimits, limitsFrom } from './server/index.js'

/** A service, and the function that is called in its pauses. */
function serviceOf(given: Partial<DoormanServerLimits> = {}) {
  const limits = limitsFrom(given)
  const server = new DoormanServer({ id: 'server', repository: fairShare(100), limits, elected: true })
  server.won({ afterNobody: true })
  const pauses: (() => void)[] = []
  const pause = async (): Promise<void> => pauses.shift()?.()
  return { server, pauses, service: inParts(server, limits, pause) }
}

const resources = (count: number, wants = 1) =>
  Array.from({ length: count }, (_, i) => ({ resourceId: `db-${i}`, priority: 0, wants }))
const groups = (count: number) => Array.from({ length: count }, () => ({ priority: 0, numClients: 1, wants: 1 }))

describe('a request about many resources', () => {
  it('is answered as a small one is, for each of them', async () => {
    const { server, service } = serviceOf()
    const calls = vi.spyOn(server, 'getCapacity')
    const { response } = await service.getCapacity({ clientId: 'c', resource: resources(730) })
    const whole = serviceOf().server.getCapacity({ clientId: 'c', resource: resources(730) })
    const granted = ({ response: all }: typeof whole) => all.map(({ resourceId, gets }) => [resourceId, gets.capacity])
    expect(granted({ response })).toEqual(granted(whole))
    const parts = calls.mock.calls.map(([{ resource }]) => resource.length)
    expect(parts).toEqual([100, 100, 100, 100, 100, 100, 100, 30])
  })

  it('lets others be answered in between', async () => {
    const { server, service, pauses } = serviceOf()
    const known: number[] = []
    for (let i = 0; i < 11; i++) pauses.push(() => known.push(server.snapshot().resources.length))
    await service.getCapacity({ clientId: 'c', resource: resources(1_000) })
    expect(known).toEqual([0, 100, 200, 300, 400, 500, 600, 700, 800, 900, 1_000])
  })

  it('changes nothing when the last of them is wrong', async () => {
    const { server, service } = serviceOf()
    const bad = { resourceId: 'db', priority: 0, wants: -1 }
    const { getCapacity } = inProcess(service).connect()
    const asked = async () => getCapacity({ clientId: 'c', resource: [...resources(300), bad] })
    await expect(asked()).rejects.toMatchObject({ code: 'invalid_argument' })
    expect(server.snapshot().resources).toEqual([])
  })

  it('is refused as too much only where nothing of it is answered', async () => {
    const { service } = serviceOf({ resources: 150 })
    const { response } = await service.getCapacity({ clientId: 'c', resource: resources(300) })
    expect(response).toHaveLength(150)
    const others = resources(300).map((each) => ({ ...each, resourceId: `other-${each.resourceId}` }))
    const asked = async () => service.getCapacity({ clientId: 'c', resource: others })
    await expect(asked()).rejects.toMatchObject({ code: 'resource_exhausted' })
  })

  it('is told of another master that has come meanwhile', async () => {
    const { server, service, pauses } = serviceOf()
    pauses.push(() => server.lost('other:1'))
    const answer = await service.getCapacity({ clientId: 'c', resource: resources(300) })
    expect(answer).toEqual({ response: [], mastership: { masterAddress: 'other:1' } })
  })

  it('from a server counts by the groups of its clients', async () => {
    const { server, service } = serviceOf()
    const calls = vi.spyOn(server, 'getServerCapacity')
    const resource = [30, 30, 40, 1, 200, 0, 5].map((count, i) => ({ resourceId: `db-${i}`, wants: groups(count) }))
    const { response } = await service.getServerCapacity({ serverId: 's', resource })
    expect(response).toHaveLength(7)
    expect(calls.mock.calls.map((call) => call[0].resource.map(({ wants }) => wants.length))).toEqual([
      [30, 30, 40],
      [1],
      [200],
      [0, 5],
    ])
  })

  it('that are given back lets go of all of them, in parts', async () => {
    const { server, service } = serviceOf()
    await service.getCapacity({ clientId: 'c', resource: resources(250) })
    const calls = vi.spyOn(server, 'releaseCapacity')
    const resourceId = resources(250).map((each) => each.resourceId)
    expect(await service.releaseCapacity({ clientId: 'c', resourceId })).toEqual({})
    expect(calls.mock.calls.map((call) => call[0].resourceId.length)).toEqual([100, 100, 50])
    expect(server.snapshot().resources.reduce((sum, { sumHeld }) => sum + sumHeld, 0)).toBe(0)
    server.lost('other:1')
    expect(await service.releaseCapacity({ clientId: 'c', resourceId })).toEqual({
      mastership: { masterAddress: 'other:1' },
    })
  })
})
