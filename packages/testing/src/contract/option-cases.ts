import assert from 'node:assert/strict'
import type { HttpOptions } from '@fairlead/core/http'
import { limitStage } from '@fairlead/core/testing'
import { Cases, type ContractCase } from './cases.js'
import type { AdapterHarness } from './harness.js'
import type { Rig } from './rig.js'

/** Ways for a user's function to fail: throw, or return an invalid value. */
const WRONG: readonly (readonly [name: string, wrong: () => never])[] = [
  [
    'throws',
    () => {
      throw new Error('an option that throws')
    },
  ],
  ['gives a promise that rejects', () => Promise.reject(new Error('too late')) as never],
  ['gives NaN', () => Number.NaN as never],
  ['gives an object', () => ({}) as never],
]

/** The functions that describe a request, valid and failing ones. */
export function optionCases<Target extends readonly unknown[]>(harness: AdapterHarness<Target>): ContractCase[] {
  const cases = new Cases(harness)
  type Options = Omit<HttpOptions<Target>, 'gate'>
  const header =
    (name: string) =>
    (...target: Target) =>
      harness.header(target, name)
  const one = async (rig: Rig<Target>, status: number): Promise<void> => {
    assert.equal((await rig.exchange('/send/200')).status, status)
  }

  cases.add(
    'flow, cost, priority and exempt reach the stages',
    () => ({
      options: {
        flow: header('x-key'),
        cost: (...target) => Number(header('x-cost')(...target)),
        priority: () => -1,
        exempt: () => true,
      },
    }),
    async (rig) => {
      await rig.exchange('/send/200', { headers: { 'x-key': 'tenant-7', 'x-cost': '2.5' } })
      assert.deepEqual(rig.probe.passages, [{ flow: 'tenant-7', cost: 2.5, priority: -1, exempt: true }])
    },
  )

  for (const wrapped of [false, true])
    cases.add(
      `work that a handler begins knows whose it is${wrapped ? ', handler wrapped' : ''}`,
      () => ({ options: { flow: header('x-key') }, wrapped }),
      async (rig) => {
        const keys = ['tenant-7', 'tenant-8', 'tenant-9']
        await Promise.all(keys.map((key) => rig.exchange('/limited', { headers: { 'x-key': key } })))
        assert.deepEqual(rig.scenes.limited.toSorted(), keys)
      },
    )

  cases.add(
    'a flow that is missing or empty: the client address, at cost 1',
    () => ({ options: { flow: header('x-key') } }),
    async (rig) => {
      await rig.exchange('/send/200')
      await rig.exchange('/send/200', { headers: { 'x-key': '' } })
      const anonymous = { flow: 'ip:127.0.0.1', cost: 1, priority: 0, exempt: false }
      assert.deepEqual(rig.probe.passages, [anonymous, anonymous])
    },
  )

  cases.add(
    'resource reaches the stages, where it names one',
    () => ({ options: { resource: header('x-backend') } }),
    async (rig) => {
      await rig.exchange('/send/200', { headers: { 'x-backend': 'reports' } })
      await rig.exchange('/send/200', { headers: { 'x-backend': '' } })
      await rig.exchange('/send/200')
      assert.deepEqual(
        rig.probe.passages.map(({ resource }) => resource),
        ['reports', undefined, undefined],
      )
    },
  )

  cases.add(
    'a key that looks like an address: another flow than the address, as it is called inside, too',
    () => ({ options: { flow: header('x-key') } }),
    async (rig) => {
      await rig.exchange('/send/200')
      const address = rig.probe.passages[0]?.flow ?? ''
      for (const key of ['127.0.0.1', '::ffff:127.0.0.1', address])
        await rig.exchange('/send/200', { headers: { 'x-key': key } })
      assert.equal(rig.probe.passages.filter(({ flow }) => flow === address).length, 1)
    },
  )

  cases.add(
    'address: names the flow where flow does not, cut like any other address',
    () => ({ options: { flow: header('x-key'), address: header('x-real-ip') } }),
    async (rig) => {
      await rig.exchange('/send/200', { headers: { 'x-real-ip': '::ffff:1.2.3.4' } })
      await rig.exchange('/send/200', { headers: { 'x-real-ip': '2001:db8:1:2ff::1' } })
      await rig.exchange('/send/200', { headers: { 'x-real-ip': '1.2.3.4', 'x-key': 'tenant-7' } })
      const flows = rig.probe.passages.map(({ flow }) => flow)
      assert.deepEqual(flows, ['ip:1.2.3.4', 'ip:2001:db8:1:200::/56', 'tenant-7'])
    },
  )

  cases.add(
    'skip: the gate does not see it',
    () => ({ options: { skip: (...target) => header('x-key')(...target) === 'health' } }),
    async (rig) => {
      assert.equal((await rig.exchange('/send/200', { headers: { 'x-key': 'health' } })).status, 200)
      assert.equal(rig.probe.passages.length, 0)
    },
  )

  for (const option of ['flow', 'cost', 'priority', 'exempt', 'skip'] as const)
    for (const [what, wrong] of WRONG) {
      const options = (onError?: 'admit' | 'refuse'): Options => {
        return { [option]: wrong, onWarning: () => {}, ...(onError && { onError }) }
      }
      // Any missing value is valid for a flow; NaN counts as missing.
      if (option === 'flow' && what === 'gives NaN') continue
      cases.add(
        `${option} ${what}: judged by the client address at cost 1`,
        () => ({ options: options() }),
        async (rig) => {
          await one(rig, 200)
          await rig.finished({ success: 1 })
          assert.deepEqual(rig.probe.passages, [{ flow: 'ip:127.0.0.1', cost: 1, priority: 0, exempt: false }])
        },
      )
      cases.add(
        `${option} ${what}, onError 'admit': passes, and the gate does not see it`,
        () => ({ options: options('admit'), stages: [limitStage(1)] }),
        async (rig) => {
          await one(rig, 200)
          assert.equal(rig.probe.passages.length, 0)
        },
      )
      cases.add(
        `${option} ${what}, onError 'refuse': 503`,
        () => ({ options: options('refuse') }),
        async (rig) => {
          await one(rig, 503)
          assert.equal(rig.scenes.begun.size, 0)
        },
      )
    }

  return cases.all
}
