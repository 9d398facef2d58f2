import { eventually, readConfig, upTo, words } from '../kit.ts'
import { addressOf } from '../../src/proxies.ts'
import { BoundedMemory, Budget } from '../../src/http/limits/budget.ts'

const requestFrom = (forwarded?: string) =>
  new Request('http://x', { headers: forwarded ? { 'x-forwarded-for': forwarded } : {} })
const server = (address: string) => ({ requestIP: () => ({ address }) })
const trust = (TRUST_PROXY: string) => readConfig({ TRUST_PROXY }).trustProxy
const [on, off] = [trust('on'), trust('off')]
const proxied = (forwarded: string) => addressOf(requestFrom(forwarded), server('3.3.3.3'), on)

test('reads the client address from the socket or the last entry of X-Forwarded-For, and groups IPv6 by /64 network', () => {
  expect(addressOf(requestFrom(), null, off)).toBe('local')
  expect(addressOf(requestFrom('1.1.1.1'), null, off)).toBe('local')
  expect(addressOf(requestFrom('1.1.1.1, 2.2.2.2 '), server('3.3.3.3'), on)).toBe('2.2.2.2')
  expect(addressOf(requestFrom(), server('::ffff:3.3.3.3'), on)).toBe('3.3.3.3')
  for (const address of ['2001:db8:1:2:3:4:5:6', '2001:DB8:1:2::9', '2001:db8:1:2:0:0:0:1'])
    expect(addressOf(requestFrom(), server(address), off)).toBe('2001:db8:1:2::/64')
  expect(addressOf(requestFrom(), server('::1'), off)).toBe('0:0:0:0::/64')
})

test('accepts a port, brackets and quotes in X-Forwarded-For', () => {
  const ipv4 = words('1.2.3.4 1.2.3.4:5678 "1.2.3.4:5678" ::ffff:1.2.3.4 [::ffff:102:304]:80')
  for (const written of [...ipv4, ' 1.2.3.4:0 '])
    expect([written, proxied(`9.9.9.9, ${written}`)]).toEqual([written, '1.2.3.4'])
  const ipv6 = '2001:db8::1 [2001:db8::1] [2001:db8::1]:443 "[2001:DB8:0:0::9]:443" 2001:db8::1%eth0'
  for (const written of words(ipv6))
    expect([written, proxied(written)]).toEqual([written, '2001:db8:0:0::/64'])
})

test('uses the socket address if X-Forwarded-For contains no valid address', () => {
  const odd = words(`unknown _hidden "_SEVKISEK" - 1.2.3 1 0x7f.1 1.2.3.4.5 256.1.1.1 1.2.3.4:x
    [1.2.3.4 2001:db8::1::2 for=1.2.3.4 1.1.1.1,`)
  odd.push('x'.repeat(5_000))
  for (const written of odd) expect([written, proxied(written)]).toEqual([written, '3.3.3.3'])
  expect(addressOf(requestFrom('unknown'), null, on)).toBe('local')
})

test('TRUST_PROXY counts proxies from the connection, as Express does', () => {
  const through = (proxies: string, forwarded: string) =>
    addressOf(requestFrom(forwarded), server('3.3.3.3'), trust(proxies))
  const chain = '9.9.9.9, 1.1.1.1, 2.2.2.2'
  expect(words('0 1 on 2 3 4 100').map((hops) => through(hops, chain))).toEqual([
    ...words('3.3.3.3 2.2.2.2 2.2.2.2 1.1.1.1 9.9.9.9 9.9.9.9 9.9.9.9'),
  ])
  expect(through('2', 'unknown, 2.2.2.2')).toBe('2.2.2.2')
  expect(through('2', '1.1.1.1, unknown')).toBe('3.3.3.3')
})

test('TRUST_PROXY skips the addresses of a list, as Express does', () => {
  const from = (proxies: string, peer: string, forwarded: string) =>
    addressOf(requestFrom(forwarded), server(peer), trust(proxies))
  const cases: [proxies: string, peer: string, forwarded: string, client: string][] = [
    ['10.0.0.1', '10.0.0.1', '9.9.9.9, 1.1.1.1', '1.1.1.1'],
    ['10.0.0.1', '10.0.0.2', '1.1.1.1', '10.0.0.2'],
    ['10.0.0.0/8', '::ffff:10.1.2.3', '9.9.9.9, 1.1.1.1, 10.4.5.6:80', '1.1.1.1'],
    ['10.0.0.0/255.0.0.0', '10.1.2.3', '1.1.1.1', '1.1.1.1'],
    ['::ffff:10.0.0.0/104', '10.1.2.3', '1.1.1.1', '1.1.1.1'],
    ['::ffff:10.0.0.1', '10.0.0.1', '1.1.1.1, ::ffff:10.0.0.1', '1.1.1.1'],
    ['loopback', '127.0.0.9', '1.1.1.1', '1.1.1.1'],
    ['loopback', '::1', '2001:db8::1, 127.0.0.1', '2001:db8:0:0::/64'],
    ['loopback', '10.0.0.1', '1.1.1.1', '10.0.0.1'],
    ['linklocal', 'fe80::1%eth0', '1.1.1.1, 169.254.1.1', '1.1.1.1'],
    ['uniquelocal', '172.31.0.1', '1.1.1.1, 192.168.0.1, fd00::1', '1.1.1.1'],
    ['loopback, 2001:db8::/32 ,10.0.0.1', '2001:db8::5', '8.8.8.8, 10.0.0.1, ::1', '8.8.8.8'],
    ['10.0.0.0/8', '10.0.0.1', '10.0.0.3, 10.0.0.2', '10.0.0.3'],
    ['0.0.0.0/0', '10.0.0.1', '1.1.1.1, 2.2.2.2', '1.1.1.1'],
    ['0.0.0.0/0', '2001:db8::1', '1.1.1.1', '2001:db8:0:0::/64'],
  ]
  for (const [proxies, peer, forwarded, client] of cases)
    expect([proxies, peer, forwarded, from(proxies, peer, forwarded)]).toEqual([
      proxies,
      peer,
      forwarded,
      client,
    ])
  expect(addressOf(requestFrom('1.1.1.1'), null, trust('loopback'))).toBe('local')
})

test('an invalid TRUST_PROXY ends the start with a message that names the setting', () => {
  const invalid = [
    ...words(
      'true yes -1 1.5 1e3 10.0.0 010.0.0.1 256.0.0.1 10.0.0.0/33 10.0.0.0/ 10.0.0.0/-1 10.0.0.0/8/8 ::1/129',
    ),
    ...words(
      '10.0.0.0/255.0.255.0 ::/255.0.0.0 ::ffff:10.0.0.0/90 localhost proxy.example.com loopback, ,on on,loopback',
    ),
    ...words('2,loopback loopback;linklocal [::1] 1.2.3.4:80 __proto__ constructor 1000'),
    'loopback linklocal',
  ]
  for (const value of invalid) {
    expect(() => readConfig({ TRUST_PROXY: value })).toThrow(/^TRUST_PROXY must be on, off, a number/)
  }
})

/** Opens the budgets of two processes that share the counts. */
function openBudgets(points: number, seconds: number) {
  const counts = new BoundedMemory({ points, duration: seconds })
  const open = () => new Budget(counts, { name: 'test', points, seconds })
  const used = async () => (await counts.get('k'))?.consumedPoints
  return { counts, used, one: open(), other: open() }
}

describe('a budget', () => {
  test('is full again when its time window ends', async () => {
    const { one } = openBudgets(2, 1)
    const isTaken = () =>
      Promise.try(() => one.take('k')).then(
        () => true,
        () => false,
      )
    // If the machine pauses for the whole window, a later window begins meanwhile.
    await eventually('the end of the budget', async () => !(await isTaken()))
    await eventually('the next window', isTaken)
  })

  test('may be exceeded by one batch, and then rejects the next batch', async () => {
    const { counts, used, one, other } = openBudgets(100, 60)
    // One request remains in the budget of each process.
    for (const process of [one, other]) await process.take('k')
    await counts.penalty('k', 100 - (await used())!)
    for (const process of [one, other]) await process.take('k')
    await one.takeMore('k', 1)
    expect(await used()).toBe(101)
    await expect(other.takeMore('k', 1)).rejects.toMatchObject({ status: 429 })
  })

  test('counts the writes of a batch only once', async () => {
    const { used, one } = openBudgets(100, 60)
    await one.take('k')
    await one.takeMore('k', 1)
    expect(await used()).toBe(2)
    await one.take('k')
    expect(await used()).toBe(4)
  })
})

test('counts in memory have at most 50,000 keys: the least recently used keys are deleted', async () => {
  const counts = new BoundedMemory({ points: 1, duration: 60 })
  for (const n of upTo(50_001)) await counts.penalty(`key ${n}`)
  expect(counts.dump().storage).toHaveLength(50_000)
  expect([await counts.get('key 1'), (await counts.get('key 2'))?.consumedPoints]).toEqual([null, 1])
})
