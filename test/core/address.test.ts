import { expect, test } from 'bun:test'
import { addressOf } from '../../src/http/limits/address.ts'
import { words } from '../support/words.ts'

const asked = (forwarded?: string) =>
  new Request('http://x', { headers: forwarded ? { 'x-forwarded-for': forwarded } : {} })
const server = (address: string) => ({ requestIP: () => ({ address }) })
const proxied = (forwarded: string) => addressOf(asked(forwarded), server('3.3.3.3'), true)

test('an address is the socket’s, the proxy’s last word, or a network of IPv6', () => {
  expect(addressOf(asked(), null, false)).toBe('local')
  expect(addressOf(asked('1.1.1.1'), null, false)).toBe('local')
  expect(addressOf(asked('1.1.1.1, 2.2.2.2 '), server('3.3.3.3'), true)).toBe('2.2.2.2')
  expect(addressOf(asked(), server('::ffff:3.3.3.3'), true)).toBe('3.3.3.3')
  for (const address of ['2001:db8:1:2:3:4:5:6', '2001:DB8:1:2::9', '2001:db8:1:2:0:0:0:1']) {
    expect(addressOf(asked(), server(address), false)).toBe('2001:db8:1:2::/64')
  }
  expect(addressOf(asked(), server('::1'), false)).toBe('0:0:0:0::/64')
})

test('a proxy may write a port, brackets and quotes', () => {
  for (const written of [
    '1.2.3.4',
    '1.2.3.4:5678',
    '"1.2.3.4:5678"',
    ' 1.2.3.4:0 ',
    '::ffff:1.2.3.4',
    '[::ffff:102:304]:80',
  ]) {
    expect([written, proxied(`9.9.9.9, ${written}`)]).toEqual([written, '1.2.3.4'])
  }
  for (const written of words(
    '2001:db8::1 [2001:db8::1] [2001:db8::1]:443 "[2001:DB8:0:0::9]:443" 2001:db8::1%eth0',
  )) {
    expect([written, proxied(written)]).toEqual([written, '2001:db8:0:0::/64'])
  }
})

test('what is no address is not believed: the socket says', () => {
  const odd = [
    'unknown',
    '_hidden',
    '"_SEVKISEK"',
    '-',
    '1.2.3',
    '1',
    '0x7f.1',
    '1.2.3.4.5',
    '256.1.1.1',
    '1.2.3.4:x',
    '[1.2.3.4',
    '2001:db8::1::2',
    'for=1.2.3.4',
    'x'.repeat(5_000),
    '1.1.1.1,',
  ]
  for (const written of odd) expect([written, proxied(written)]).toEqual([written, '3.3.3.3'])
  expect(addressOf(asked('unknown'), null, true)).toBe('local')
})
