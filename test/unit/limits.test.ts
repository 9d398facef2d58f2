import { eventually, readYaml, readConfig, upTo } from '../kit.ts'
import { addressOf } from '../../src/proxies.ts'
import { BoundedMemory, Budget } from '../../src/http/limits.ts'

/** Returns the client address of a request, by TRUST_PROXY, the address of the connection, and X-Forwarded-For. */
function clientOf(proxies: string, peer: string | null, forwarded = ''): string {
  const request = new Request('http://x', { headers: forwarded ? { 'x-forwarded-for': forwarded } : {} })
  const server = peer === null ? null : { requestIP: () => ({ address: peer }) }
  return addressOf(request, server, readConfig({ TRUST_PROXY: proxies }).trustProxy)
}

interface Cases {
  clients: [proxies: string, peer: string | null, forwarded: string, client: string][]
  lastEntries: Record<string, string[]>
  wrongProxies: string[][]
}
const { clients, lastEntries, wrongProxies } = readYaml<Cases>('test/unit/addresses.yaml')

test.each(clients)(
  'with TRUST_PROXY=%s, the client of %p with X-Forwarded-For %p is %s',
  (proxies, peer, forwarded, client) => expect(clientOf(proxies, peer, forwarded)).toBe(client),
)

test.each(Object.entries(lastEntries))(
  'reads %s from a last entry of X-Forwarded-For with a port, brackets or quotes, or from the socket',
  (client, entries) => {
    for (const entry of entries)
      expect([entry, clientOf('on', '3.3.3.3', `9.9.9.9, ${entry} `)]).toEqual([entry, client])
    expect(clientOf('on', '3.3.3.3', `1.1.1.1, ${'x'.repeat(5_000)}`)).toBe('3.3.3.3')
  },
)

test('an invalid TRUST_PROXY ends the start with a message that names the setting', () => {
  for (const value of wrongProxies.flat())
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
