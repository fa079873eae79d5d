import fc from 'fast-check'
import { describe, expect, it, vi } from 'vitest'
import { namedFlow } from '../path.js'
import { AddressFlows, addressFlow, UNKNOWN_ADDRESS } from './address-flow.js'
import { warnOnce } from './mistakes.js'

describe('the flow of an address', () => {
  it.each([
    ['203.0.113.7', '203.0.113.7'],
    ['203.0.113.7:4711', '203.0.113.7'],
    ['::ffff:203.0.113.7', '203.0.113.7'],
    ['::FFFF:203.0.113.7', '203.0.113.7'],
    ['::ffff:cb00:7107', '203.0.113.7'],
    ['0:0:0:0:0:ffff:cb00:7107', '203.0.113.7'],
    ['[::ffff:203.0.113.7]:443', '203.0.113.7'],
    ['::ffff:102:304', '1.2.3.4'],
    ['64:ff9b::203.0.113.7', '203.0.113.7'],
    ['64:ff9b::cb00:7107', '203.0.113.7'],
    ['2001:db8:1:2ff:3:4:5:6', '2001:db8:1:200::/56'],
    ['2001:db8:1:201::9', '2001:db8:1:200::/56'],
    ['[2001:db8:1:201::9]', '2001:db8:1:200::/56'],
    ['[2001:db8:1:201::9]:8080', '2001:db8:1:200::/56'],
    ['2001:DB8::1', '2001:db8::/56'],
    ['::1', '::1'],
    ['::', '::'],
    ['fe80::1%eth0', 'fe80::1'],
    ['fe80::2%eth0', 'fe80::2'],
    ['64:ff9b:1::cb00:7107', '64:ff9b:1::cb00:7107'],
  ])('%s is %s', (address, flow) => expect(addressFlow(address, 56)).toBe(`ip:${flow}`))

  it.each([
    '',
    'unknown',
    '_hidden',
    '1.2.3',
    '1.2.3.256',
    '1.2.3.4.5',
    '1.2.3.4:',
    '1::2::3',
    '1:2:3:4:5:6:7',
    '1:2:3:4:5:6:7:8:9',
    '::1.2.3.4:5:6',
    '::12345',
    'g::1',
    '[::1',
    ':::',
    ' 1.2.3.4',
    '__proto__',
    '1'.repeat(1_000_000),
  ])('%j is none', (address) => expect(addressFlow(address, 56)).toBeUndefined())

  it.each([
    [128, '2001:db8:1:2ff:3:4:5:6'],
    [64, '2001:db8:1:2ff::/64'],
    [60, '2001:db8:1:2f0::/60'],
    [48, '2001:db8:1::/48'],
    [1, '::/1'],
  ])('ipv6Prefix %d cuts there', (prefix, flow) =>
    expect(addressFlow('2001:db8:1:2ff:3:4:5:6', prefix)).toBe(`ip:${flow}`),
  )

  it('is the same for every spelling of one IPv4 address', () => {
    const byte = fc.nat(255)
    fc.assert(
      fc.property(byte, byte, byte, byte, fc.nat(65_535), (a, b, c, d, port) => {
        const dotted = `${a}.${b}.${c}.${d}`
        const hex = `${(a * 256 + b).toString(16)}:${(c * 256 + d).toString(16)}`
        const spellings = [
          dotted,
          `${dotted}:${port}`,
          `::ffff:${dotted}`,
          `[::ffff:${hex}]:${port}`,
          `64:ff9b::${hex}`,
        ]
        for (const spelling of spellings) expect(addressFlow(spelling, 56)).toBe(`ip:${dotted}`)
      }),
    )
  })

  it('is shared by two IPv6 addresses exactly if their first bits are the same', () => {
    const groups = fc
      .tuple(fc.integer({ min: 0x2000, max: 0x3fff }), fc.array(fc.nat(0xffff), { minLength: 7, maxLength: 7 }))
      .map(([first, rest]) => [first, ...rest])
    const bits = (parts: readonly number[], prefix: number): string =>
      parts
        .map((part) => part.toString(2).padStart(16, '0'))
        .join('')
        .slice(0, prefix)
    fc.assert(
      fc.property(groups, groups, fc.integer({ min: 1, max: 128 }), fc.nat(7), (one, other, prefix, same) => {
        const mixed = other.map((part, i) => (i < same ? one[i]! : part))
        const flow = (parts: readonly number[]): string | undefined =>
          addressFlow(parts.map((part) => part.toString(16)).join(':'), prefix)
        expect(flow(one) === flow(mixed)).toBe(bits(one, prefix) === bits(mixed, prefix))
      }),
    )
  })
})

describe('flows by address', () => {
  it('gives requests without an address one flow, and warns once, when ten such were answered in a row', () => {
    const listener = vi.fn()
    const flows = new AddressFlows(56, warnOnce(listener))
    for (let i = 0; i < 3; i++) expect(flows.flow(undefined)).toBe(UNKNOWN_ADDRESS)
    expect(listener).not.toHaveBeenCalled()
    for (let i = 0; i < 100; i++) flows.answered(i % 10 === 9)
    expect(listener).not.toHaveBeenCalled()
    for (let i = 0; i < 100; i++) flows.answered(false)
    expect(listener).toHaveBeenCalledOnce()
    expect(listener.mock.calls[0]?.[0]).toMatch(/No client address .* share the flow 'ip:unknown'; set the option flow/)
    expect(flows.flow('unix:')).toBe(UNKNOWN_ADDRESS)
    expect(listener).toHaveBeenCalledTimes(2)
  })

  it('remembers a bounded number of addresses, and forgets none wrongly', () => {
    const flows = new AddressFlows(
      56,
      warnOnce(() => {}),
    )
    for (let i = 0; i < 5_000; i++) {
      const address = `10.${i % 7}.${i >> 8}.${i & 255}`
      expect(flows.flow(`::ffff:${address}`)).toBe(`ip:${address}`)
      expect(flows.flow(`::ffff:${address}`)).toBe(`ip:${address}`)
    }
  })
})

describe('the flow of a name', () => {
  it('is the name itself, unless it looks like the flow of an address', () => {
    expect(namedFlow('tenant-acme')).toBe('tenant-acme')
    expect(namedFlow('203.0.113.7')).toBe('203.0.113.7')
    expect(namedFlow('ip:203.0.113.7')).toBe('ip:ip:203.0.113.7')
  })

  it('is never the flow of an address, and two names are two flows', () => {
    const name = fc.oneof(
      fc.string(),
      fc.tuple(fc.constantFrom('ip:', 'ip:ip:', 'IP:', ''), fc.ipV4()).map(([head, address]) => head + address),
      fc.constantFrom(UNKNOWN_ADDRESS, 'unknown'),
    )
    fc.assert(
      fc.property(name, name, fc.ipV4(), (one, other, address) => {
        for (const flow of [addressFlow(address, 56), UNKNOWN_ADDRESS]) expect(namedFlow(one)).not.toBe(flow)
        expect(namedFlow(one) === namedFlow(other)).toBe(one === other)
      }),
    )
  })
})
