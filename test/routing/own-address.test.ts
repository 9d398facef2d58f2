import { expect, test } from 'bun:test'
import { networkInterfaces } from 'node:os'
import { ownAddress } from '../../src/routing/own-address.ts'

type Interfaces = NonNullable<Parameters<typeof ownAddress>[1]>

const at = (...addresses: string[]): Interfaces[string] =>
  addresses.map((address) => {
    const isSix = address.includes(':')
    const more = { netmask: '', mac: '', cidr: null, internal: /^(127\.|::1$)/.test(address) }
    return isSix ? { ...more, address, family: 'IPv6', scopeid: 0 } : { ...more, address, family: 'IPv4' }
  })

test('who listens at one address is reached there', () => {
  for (const host of ['127.0.0.1', '10.0.0.7', 'fd00::7', 'web-1.internal'])
    expect(ownAddress(host, { eth0: at('10.1.1.1') })).toBe(host)
})

test('who listens everywhere is reached at the first address that is not of the machine alone', () => {
  const machine = {
    lo: at('127.0.0.1', '::1'),
    eth0: at('fe80::1', '169.254.0.9', 'fd00::2', '10.0.0.2', '10.0.0.3'),
  }
  expect(ownAddress('0.0.0.0', machine)).toBe('10.0.0.2')
  expect(ownAddress('::', machine)).toBe('10.0.0.2')
  expect(ownAddress('::', { lo: at('::1'), eth0: at('fe80::1', 'fd00::2') })).toBe('fd00::2')
})

test('where nothing but loopback is there, it is reached there', () => {
  expect(ownAddress('0.0.0.0', { lo: at('127.0.0.1'), eth0: at('fd00::2') })).toBe('127.0.0.1')
  expect(Object.values(networkInterfaces()).flatMap((all) => all?.map(({ address }) => address))).toContain(
    ownAddress('::'),
  )
})
