import { newId, readYaml, tally, upTo, words } from '../kit.ts'
import { ownAddress, ownMachine, unreachableHost, type Peer } from '../../src/routing/rpc.ts'
import { shardOf } from '../../src/routing/placement.ts'

test('projects are spread evenly over the shards, always in the same way', () => {
  const ids = upTo(8_000).map(newId)
  for (const shards of [2, 4, 7, 64]) {
    const counts = Object.values(tally(ids.map((id) => shardOf(id, shards))))
    expect(counts).toHaveLength(shards)
    // At most seven standard deviations of a uniform distribution.
    const mean = ids.length / shards
    for (const count of counts) expect(Math.abs(count - mean)).toBeLessThan(7 * Math.sqrt(mean))
  }
  expect(new Set(ids.map((id) => shardOf(id, 1)))).toEqual(new Set([0]))
  // The shard of a project must never change, because processes of different versions run together.
  expect(shardOf('019a0000-0000-7000-8000-000000000001', 64)).toBe(17)
})

type Interfaces = NonNullable<Parameters<typeof ownAddress>[1]>

const at = (addresses: string): Interfaces[string] =>
  words(addresses).map((address) => {
    const more = { netmask: '', mac: '', cidr: null, internal: /^(127\.|::1$)/.test(address) }
    return address.includes(':')
      ? { ...more, address, family: 'IPv6', scopeid: 0 }
      : { ...more, address, family: 'IPv4' }
  })

const { announced } = readYaml<{ announced: [string, string, string, string][] }>('test/unit/addresses.yaml')

test.each(announced)(
  'with HOST=%s and the addresses %s and %s, a process announces %s',
  (host, lo, eth0, announced) => {
    expect(ownAddress(host, { lo: at(lo), eth0: at(eth0) })).toBe(announced)
  },
)

test('a process at loopback is unreachable for a process that has another machine or a network address', () => {
  const peer = (host: string, machine = ownMachine()): Peer => ({ id: 'b', host, port: 4000, machine })
  const isUnreachable = (own: string, ...others: Peer[]) => unreachableHost(peer(own), others) !== undefined
  for (const own of words('127.0.0.1 127.1.2.3 ::1 localhost')) {
    expect([own, isUnreachable(own, peer('10.0.0.7'))]).toEqual([own, true])
    expect([own, isUnreachable(own, peer('127.0.0.1'), peer('127.0.0.1', 'other'))]).toEqual([own, true])
    // The previous release does not announce its machine.
    for (const near of [peer('127.0.0.1'), { id: 'b', host: '::1', port: 4000 }])
      expect([own, isUnreachable(own, near)]).toEqual([own, false])
  }
  for (const own of words('10.0.0.8 web-1 fd00::2'))
    expect([own, isUnreachable(own, peer('127.0.0.1', 'other'), peer('10.0.0.7'))]).toEqual([own, false])
})
