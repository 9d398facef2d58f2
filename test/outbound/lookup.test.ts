import { createSocket } from 'node:dgram'
import type { AddressInfo } from 'node:net'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { hash } from '@node-rs/argon2'
import { openLookup } from '../../src/outbound/destination.ts'
import { forFile, newFolder } from '../kit.ts'

let queries: string[] = []
const server = createSocket('udp4')
server.on('message', (query, { port, address }) => {
  const answer = answerTo(query)
  if (answer) server.send(answer, port, address)
})
await new Promise<void>((resolve) => server.bind(0, '127.0.0.1', resolve))
await forFile(server)
const hostsFile = join(await newFolder(), 'hosts')
await writeFile(hostsFile, '# own\n10.0.0.7\tinside Inside.example.com # and so on\n::7 inside\nnonsense a\n')
const lookup = openLookup(hostsFile, [`127.0.0.1:${(server.address() as AddressInfo).port}`])

/** Encodes a DNS response (RFC 1035, 4.1). `silent…` gets no response, `none…` NXDOMAIN, and `four…` no IPv6 address. */
function answerTo(query: Buffer): Buffer | undefined {
  const labels: string[] = []
  let at = 12
  for (; query[at]! > 0; at += query[at]! + 1)
    labels.push(query.toString('latin1', at + 1, at + 1 + query[at]!))
  const type = query.readUInt16BE(at + 1)
  const name = labels.join('.')
  queries.push(`${name} ${type === 1 ? 'A' : 'AAAA'}`)
  if (name.startsWith('silent')) return undefined
  const isNone = name.startsWith('none')
  const address =
    type === 1 ? [192, 0, 2, 1] : name.startsWith('four') ? [] : [0x20, 1, ...Array(13).fill(0), 1]
  const count = isNone || address.length === 0 ? 0 : 1
  const head = [query[0]!, query[1]!, 0x81, isNone ? 0x83 : 0x80, 0, 1, 0, count, 0, 0, 0, 0]
  const row = count ? [0xc0, 12, 0, type, 0, 1, 0, 0, 0, 0, 0, address.length, ...address] : []
  return Buffer.concat([Buffer.from(head), query.subarray(12, at + 5), Buffer.from(row)])
}

test('resolves names by the hosts file first, then by the name server', async () => {
  expect(await lookup('both.example.com')).toEqual(['192.0.2.1', '2001::1'])
  expect(await lookup('four.example.com.')).toEqual(['192.0.2.1'])
  await expect(lookup('none.example.com')).rejects.toMatchObject({ code: 'ENOTFOUND' })
  queries = []
  expect(await lookup('INSIDE.')).toEqual(['10.0.0.7', '::7'])
  expect(await lookup('inside.example.com')).toEqual(['10.0.0.7'])
  for (const name of ['localhost', 'a.localhost', 'LocalHost.'])
    expect(await lookup(name)).toEqual(['127.0.0.1', '::1'])
  expect(queries).toEqual([])
})

test('a name whose DNS server does not respond delays neither other lookups nor password hashes', async () => {
  const silent = Array.from({ length: 100 }, (_, n) =>
    lookup(`silent${n}.example.com`).catch(({ code }) => code as unknown),
  )
  const isLate = Symbol('late')
  const before = Promise.race([...silent, Bun.sleep(20_000)]).then(() => isLate)
  expect(await Promise.race([before, lookup('both.example.com')])).toEqual(['192.0.2.1', '2001::1'])
  expect(await Promise.race([before, hash('secret')])).not.toBe(isLate)
  expect(new Set(await Promise.all(silent))).toEqual(new Set(['ETIMEOUT']))
}, 60_000)
