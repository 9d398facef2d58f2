import { eventually, readConfig, upTo, words } from '../kit.ts'
import { addressOf } from '../../src/proxies.ts'
import { BoundedMemory, Budget } from '../../src/http/limits/budget.ts'

/** Returns the client address of a request, by TRUST_PROXY, the address of the connection, and X-Forwarded-For. */
function clientOf(proxies: string, peer: string | null, forwarded = ''): string {
  const request = new Request('http://x', { headers: forwarded ? { 'x-forwarded-for': forwarded } : {} })
  const server = peer === null ? null : { requestIP: () => ({ address: peer }) }
  return addressOf(request, server, readConfig({ TRUST_PROXY: proxies }).trustProxy)
}

const chain = '9.9.9.9, 1.1.1.1, 2.2.2.2'

test.each<[proxies: string, peer: string | null, forwarded: string, client: string]>([
  ['off', null, '', 'local'],
  ['off', null, '1.1.1.1', 'local'],
  ['on', null, 'unknown', 'local'],
  ['loopback', null, '1.1.1.1', 'local'],
  ['on', '::ffff:3.3.3.3', '', '3.3.3.3'],
  // IPv6 addresses are grouped by network.
  ...words('2001:db8:1:2:3:4:5:6 2001:DB8:1:2::9 2001:db8:1:2:0:0:0:1').map(
    (peer): [string, string, string, string] => {
      return ['off', peer, '', '2001:db8:1:2::/64']
    },
  ),
  ['off', '::1', '', '0:0:0:0::/64'],
  // A number counts proxies from the connection, as Express does.
  ['0', '3.3.3.3', chain, '3.3.3.3'],
  ['1', '3.3.3.3', chain, '2.2.2.2'],
  ['on', '3.3.3.3', chain, '2.2.2.2'],
  ['2', '3.3.3.3', chain, '1.1.1.1'],
  ['3', '3.3.3.3', chain, '9.9.9.9'],
  ['100', '3.3.3.3', chain, '9.9.9.9'],
  ['2', '3.3.3.3', 'unknown, 2.2.2.2', '2.2.2.2'],
  ['2', '3.3.3.3', '1.1.1.1, unknown', '3.3.3.3'],
  // The addresses of a list are skipped, as Express does.
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
])(
  'with TRUST_PROXY=%s, the client of %p with X-Forwarded-For %p is %s',
  (proxies, peer, forwarded, client) => expect(clientOf(proxies, peer, forwarded)).toBe(client),
)

test.each([
  ['1.2.3.4', '1.2.3.4 1.2.3.4:5678 "1.2.3.4:5678" ::ffff:1.2.3.4 [::ffff:102:304]:80 1.2.3.4:0'],
  [
    '2001:db8:0:0::/64',
    '2001:db8::1 [2001:db8::1] [2001:db8::1]:443 "[2001:DB8:0:0::9]:443" 2001:db8::1%eth0',
  ],
  [
    '3.3.3.3',
    `unknown _hidden "_SEVKISEK" - 1.2.3 1 0x7f.1 1.2.3.4.5 256.1.1.1 1.2.3.4:x [1.2.3.4 2001:db8::1::2
      for=1.2.3.4 1.1.1.1, ${'x'.repeat(5_000)}`,
  ],
])(
  'reads %s from a last entry of X-Forwarded-For with a port, brackets or quotes, or from the socket',
  (client, entries) => {
    for (const entry of words(entries))
      expect([entry, clientOf('on', '3.3.3.3', `9.9.9.9, ${entry} `)]).toEqual([entry, client])
  },
)

test('an invalid TRUST_PROXY ends the start with a message that names the setting', () => {
  const invalid =
    words(`true yes -1 1.5 1e3 10.0.0 010.0.0.1 256.0.0.1 10.0.0.0/33 10.0.0.0/ 10.0.0.0/-1 10.0.0.0/8/8
    ::1/129 10.0.0.0/255.0.255.0 ::/255.0.0.0 ::ffff:10.0.0.0/90 localhost proxy.example.com loopback, ,on
    on,loopback 2,loopback loopback;linklocal [::1] 1.2.3.4:80 __proto__ constructor 1000`)
  for (const value of [...invalid, 'loopback linklocal'])
    expect(() => readConfig({ TRUST_PROXY: value })).toThrow(/^TRUST_PROXY must be on, off, a number/)
})

/** Opens the budgets of two processes that share the counts. */
function openBudgets(points: number, seconds: number) {
  const counts = new BoundedMemory({ points, duration: seconds })
  const open = () => new Budget(counts, { name: 'test', points, seconds })
  const used = async () => (await counts.get('k'))?.consumedPoints
  return { counts, used, one: open(), other: open() }
}

test('a budget is full again when its time window ends', async () => {
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

test('a budget counts the writes of a batch once, may be exceeded by one batch, and then rejects the next batch', async () => {
  const { counts, used, one, other } = openBudgets(100, 60)
  await one.take('k')
  await one.takeMore('k', 1)
  expect(await used()).toBe(2)
  await one.take('k')
  expect(await used()).toBe(4)
  await other.take('k')
  // One request remains in the budget of each process.
  await counts.penalty('k', 100 - (await used())!)
  for (const process of [one, other]) await process.take('k')
  await one.takeMore('k', 1)
  expect(await used()).toBe(101)
  await expect(other.takeMore('k', 1)).rejects.toMatchObject({ status: 429 })
})

test('counts in memory have at most 50,000 keys: the least recently used keys are deleted', async () => {
  const counts = new BoundedMemory({ points: 1, duration: 60 })
  for (const n of upTo(50_001)) await counts.penalty(`key ${n}`)
  expect(counts.dump().storage).toHaveLength(50_000)
  expect([await counts.get('key 1'), (await counts.get('key 2'))?.consumedPoints]).toEqual([null, 1])
})
