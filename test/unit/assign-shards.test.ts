import fc from 'fast-check'
import { networkInterfaces } from 'node:os'
import { newId, tally, upTo } from '../kit.ts'
import { ownAddress } from '../../src/routing/own-address.ts'
import { assignShards, shardOf } from '../../src/routing/placement.ts'

const name = fc.string({ maxLength: 8 })
const names = fc.uniqueArray(name, { minLength: 1, maxLength: 12 })
/** Previous assignments may name ended processes, have gaps, and have fewer or more shards. */
const situations = fc.record({
  shards: fc.integer({ min: 1, max: 64 }),
  live: names,
  ended: names,
  picks: fc.array(fc.option(fc.nat(), { nil: undefined }), { maxLength: 64 }),
})
type Situation = typeof situations extends fc.Arbitrary<infer S> ? S : never

function currentOf({ live, ended, picks }: Situation): (string | undefined)[] {
  const all = [...live, ...ended]
  return picks.map((pick) => (pick === undefined ? undefined : all[pick % all.length]))
}

const forAll = (property: (situation: Situation, current: (string | undefined)[]) => void) =>
  fc.assert(fc.property(situations, (situation) => property(situation, currentOf(situation))))

const loadsOf = (live: string[], homes: string[]) =>
  live.map((id) => homes.filter((home) => home === id).length)
const spread = (loads: number[]) => Math.max(...loads) - Math.min(...loads)

test('each shard has one live home', () =>
  forAll(({ shards, live }, current) => {
    for (const mayBalance of [false, true]) {
      const homes = assignShards(shards, live, current, mayBalance)
      expect(homes).toHaveLength(shards)
      expect(homes.filter((home) => !live.includes(home))).toEqual([])
    }
  }))

test('a shard with a live home does not move', () =>
  forAll(({ shards, live }, current) => {
    const homes = assignShards(shards, live, current, false)
    const moved = homes.filter((home, shard) => live.includes(current[shard]!) && home !== current[shard])
    expect(moved).toEqual([])
  }))

test('a repeated assignment moves no shard', () =>
  forAll(({ shards, live }, current) => {
    const homes = assignShards(shards, live, current, false)
    expect(assignShards(shards, live, homes, false)).toEqual(homes)
  }))

test('the order of the processes does not matter', () =>
  forAll(({ shards, live }, current) => {
    for (const mayBalance of [false, true])
      expect(assignShards(shards, live.toReversed(), current, mayBalance)).toEqual(
        assignShards(shards, live, current, mayBalance),
      )
  }))

test('shards without a home go to the processes with the fewest shards', () =>
  forAll(({ shards, live }, current) => {
    const before = loadsOf(live, current.slice(0, shards) as string[])
    const after = loadsOf(live, assignShards(shards, live, current, false))
    const takers = after.filter((load, i) => load > before[i]!)
    if (takers.length > 0) expect(Math.max(...takers) - Math.min(...after)).toBeLessThanOrEqual(1)
  }))

test('balancing moves at most one shard at a time, until the numbers of shards differ by one at most', () =>
  forAll(({ shards, live }, current) => {
    let homes = assignShards(shards, live, current, true)
    if (current.length < shards) expect(homes).toEqual(assignShards(shards, live, current, false))
    for (let moves = 0; moves <= shards; moves++) {
      const next = assignShards(shards, live, homes, true)
      const moved = next.filter((home, shard) => home !== homes[shard])
      expect(moved.length).toBeLessThanOrEqual(1)
      expect(moved.length === 0).toBe(spread(loadsOf(live, homes)) <= 1)
      homes = next
    }
    expect(spread(loadsOf(live, homes))).toBeLessThanOrEqual(1)
  }))

test('returns no homes without live processes', () => {
  expect(assignShards(4, [], ['a', undefined], true)).toEqual([])
})

test('projects are spread evenly over the shards, always in the same way', () => {
  const ids = upTo(8_000).map(newId)
  for (const shards of [2, 4, 7, 64]) {
    const counts = Object.values(tally(ids.map((id) => shardOf(id, shards))))
    expect(counts).toHaveLength(shards)
    // At most seven standard deviations of a uniform distribution.
    const mean = ids.length / shards
    for (const count of counts) expect(Math.abs(count - mean)).toBeLessThan(7 * Math.sqrt(mean))
  }
  expect(ids.map((id) => shardOf(id, 1))).toEqual(ids.map(() => 0))
  // The shard of a project must never change, because processes of different versions run together.
  expect(shardOf('019a0000-0000-7000-8000-000000000001', 64)).toBe(17)
})

test('a restart of one process after another moves only the shards of that process', () => {
  const ids = upTo(5).map((n) => `process ${n}`)
  let homes = assignShards(10, ids, [], false)
  for (const restarting of ids.slice(1)) {
    const live = ids.filter((id) => id !== restarting)
    const after = assignShards(10, live, homes, false)
    expect(after.filter((home, shard) => home !== homes[shard])).toHaveLength(2)
    homes = assignShards(10, ids, assignShards(10, ids, after, true), true)
  }
})

type Interfaces = NonNullable<Parameters<typeof ownAddress>[1]>

const at = (...addresses: string[]): Interfaces[string] =>
  addresses.map((address) => {
    const isSix = address.includes(':')
    const more = { netmask: '', mac: '', cidr: null, internal: /^(127\.|::1$)/.test(address) }
    return isSix ? { ...more, address, family: 'IPv6', scopeid: 0 } : { ...more, address, family: 'IPv4' }
  })

test('if HOST is an address or name, a process announces HOST as its address', () => {
  for (const host of ['127.0.0.1', '10.0.0.7', 'fd00::7', 'web-1.internal'])
    expect(ownAddress(host, { eth0: at('10.1.1.1') })).toBe(host)
})

test('if HOST is a wildcard, a process announces the first address that other machines can reach', () => {
  const machine = {
    lo: at('127.0.0.1', '::1'),
    eth0: at('fe80::1', '169.254.0.9', 'fd00::2', '10.0.0.2', '10.0.0.3'),
  }
  expect(ownAddress('0.0.0.0', machine)).toBe('10.0.0.2')
  expect(ownAddress('::', machine)).toBe('10.0.0.2')
  expect(ownAddress('::', { lo: at('::1'), eth0: at('fe80::1', 'fd00::2') })).toBe('fd00::2')
})

test('if other machines can reach no address, a process announces loopback', () => {
  expect(ownAddress('0.0.0.0', { lo: at('127.0.0.1'), eth0: at('fd00::2') })).toBe('127.0.0.1')
  expect(Object.values(networkInterfaces()).flatMap((all) => all?.map(({ address }) => address))).toContain(
    ownAddress('::'),
  )
})
