import { expect, test } from 'bun:test'
import { addressOf } from '../../src/http/limits/address.ts'
import { words } from '../support/words.ts'
import { Budget } from '../../src/http/limits/budget.ts'

const requestFrom = (forwarded?: string) =>
  new Request('http://x', { headers: forwarded ? { 'x-forwarded-for': forwarded } : {} })
const server = (address: string) => ({ requestIP: () => ({ address }) })
const proxied = (forwarded: string) => addressOf(requestFrom(forwarded), server('3.3.3.3'), true)

test('reads the client address from the socket or the last entry of X-Forwarded-For, and groups IPv6 by /64 network', () => {
  expect(addressOf(requestFrom(), null, false)).toBe('local')
  expect(addressOf(requestFrom('1.1.1.1'), null, false)).toBe('local')
  expect(addressOf(requestFrom('1.1.1.1, 2.2.2.2 '), server('3.3.3.3'), true)).toBe('2.2.2.2')
  expect(addressOf(requestFrom(), server('::ffff:3.3.3.3'), true)).toBe('3.3.3.3')
  for (const address of ['2001:db8:1:2:3:4:5:6', '2001:DB8:1:2::9', '2001:db8:1:2:0:0:0:1'])
    expect(addressOf(requestFrom(), server(address), false)).toBe('2001:db8:1:2::/64')
  expect(addressOf(requestFrom(), server('::1'), false)).toBe('0:0:0:0::/64')
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
  expect(addressOf(requestFrom('unknown'), null, true)).toBe('local')
})

function open() {
  const count = { points: 0 }
  const add = async (_: string, points: number) => ({ points: (count.points += points), msToEnd: 60_000 })
  const policy = { name: 'writes', points: 100, seconds: 60 }
  const process = () => new Budget({ add, read: () => add('', 0) }, policy)
  return { count, one: process(), other: process() }
}

test('one batch may exceed the budget, and the next batch is rejected', async () => {
  const { count, one, other } = open()
  // One request remains in the budget of each process.
  for (const process of [one, other]) await process.take('k')
  count.points = 100
  for (const process of [one, other]) await process.take('k')
  await one.takeMore('k', 1)
  expect(count.points).toBe(101)
  await expect(other.takeMore('k', 1)).rejects.toMatchObject({ status: 429 })
})

test('counts the writes of a batch only once', async () => {
  const { count, one } = open()
  await one.take('k')
  await one.takeMore('k', 1)
  expect(count.points).toBe(2)
  await one.take('k')
  expect(count.points).toBe(4)
})
