import { isReachable, ForbiddenUrl, openDestinations } from '../../src/outbound/destination.ts'
import { words } from '../kit.ts'

const strict = { allowHttp: false, allowPrivate: false }
const lenient = { allowHttp: true, allowPrivate: true }

const publicAddresses = ['1.1.1.1', '93.184.215.14', '2606:4700::1111', '::ffff:1.1.1.1', '64:ff9b::101:101']
const privateAddresses = [
  ...['127.0.0.1', '127.9.9.9', '10.0.0.1', '172.16.0.1', '172.31.255.255', '192.168.1.1'],
  ...['::1', 'fc00::1', 'fd12:3456::1', '::ffff:127.0.0.1', '::ffff:7f00:1', '::7f00:1', '::ffff:c0a8:101'],
  ...['64:ff9b::a00:1', '::10.0.0.1'],
]
const forbiddenAddresses = [
  ...['169.254.169.254', '169.254.0.1', 'fe80::1', 'fe80::1%eth0', '::ffff:169.254.169.254', '::a9fe:a9fe'],
  ...['64:ff9b::a9fe:a9fe', 'fd00:ec2::254', '168.63.129.16', '::ffff:168.63.129.16', '100.100.100.200'],
  ...['0.0.0.0', '0.1.2.3', '::', '::ffff:0.0.0.0', '255.255.255.255', '224.0.0.1', 'ff02::1', '240.0.0.1'],
  ...['100.64.0.1', '192.0.0.192', '192.0.2.1', '198.18.0.1', '198.51.100.7', '203.0.113.7', '192.88.99.1'],
  ...words('fec0::1 2002:7f00:1:: 2001:0:7f00::1 2001:db8::1 100::1 5f00::1 4000::1 ::2:0:0:1'),
  ...['localhost', '1.1.1', '', '1.1.1.1.1'],
]

test('always allows public addresses, and allows private addresses only if the policy does', () => {
  for (const address of publicAddresses)
    for (const reach of [strict, lenient])
      expect([address, isReachable(address, reach)]).toEqual([address, true])
  for (const address of privateAddresses) {
    expect([address, isReachable(address, strict)]).toEqual([address, false])
    expect([address, isReachable(address, lenient)]).toEqual([address, true])
  }
  for (const address of forbiddenAddresses)
    for (const reach of [strict, lenient])
      expect([address, isReachable(address, reach)]).toEqual([address, false])
})

const isRejected = (text: string, reach = strict) => {
  try {
    openDestinations(reach).read(text)
    return false
  } catch (error) {
    if (error instanceof ForbiddenUrl) return true
    throw error
  }
}

test('rejects a URL of a forbidden address in every notation', () => {
  for (const host of [
    ...words('127.0.0.1 127.1 2130706433 0x7f000001 0x7f.1 017700000001 0177.0.0.01 127.0.0.1.'),
    ...['[::1]', '[::ffff:127.0.0.1]', '[::ffff:7f00:1]', '[::7f00:1]', '[0:0:0:0:0:0:0:1]', '１２７.0.0.1'],
    ...['10.1.2.3', '192.168.0.1', '[fd00::1]', '①②⑦.0.0.1', '%31%32%37.0.0.1'],
  ]) {
    expect([host, isRejected(`https://${host}/hook`)]).toEqual([host, true])
    expect([host, isRejected(`https://${host}:8443/hook`, lenient)]).toEqual([host, false])
  }
  for (const host of words(
    '169.254.169.254 2852039166 0xa9fea9fe [fe80::1] [::ffff:a9fe:a9fe] 0 0.0.0.0 [::]',
  ))
    expect([host, isRejected(`http://${host}/latest/meta-data`, lenient)]).toEqual([host, true])
  for (const url of [
    ...words(`
      http://example.com/ ftp://example.com/ file:///etc/passwd javascript:alert(1) data:,x
      example.com`),
    ...[
      'https://ada@example.com/',
      'https://ada:secret@example.com/',
      'https://:secret@example.com/',
      '',
      'https://',
    ],
    ...[`https://example.com/${'x'.repeat(2_048)}`, 'gopher://example.com/', 'unix:/var/run/docker.sock'],
    `https://example.com/${'é'.repeat(400)}`,
  ])
    expect([url, isRejected(url)]).toEqual([url, true])
  for (const url of ['ftp://example.com/', 'https://ada:secret@example.com/', 'file:///etc/passwd'])
    expect([url, isRejected(url, lenient)]).toEqual([url, true])
  for (const url of words(`
    https://example.com https://example.com:8443/a?b=c https://1.1.1.1/ https://[2606:4700::1111]/`))
    expect([url, isRejected(url)]).toEqual([url, false])
  expect(isRejected('http://example.com/', lenient)).toBe(false)
})

const resolvingTo = (...addresses: string[]) => openDestinations(strict, () => Promise.resolve(addresses))
const url = new URL('https://hooks.example.com/')

test('checks every address of a host name', async () => {
  const good = ['1.1.1.1', '2606:4700::1111']
  expect(await resolvingTo(...good).addressesOf(url)).toEqual(good)
  for (const bad of ['127.0.0.1', '10.0.0.1', '::1', '::ffff:10.0.0.1', '169.254.169.254', 'fe80::1'])
    for (const all of [
      [bad],
      ['1.1.1.1', bad],
      [bad, '1.1.1.1'],
      ['1.1.1.1', '1.0.0.1', '1.1.1.2', '1.0.0.2', bad],
    ])
      await expect(resolvingTo(...all).addressesOf(url)).rejects.toBeInstanceOf(ForbiddenUrl)
})

test('a host name without addresses fails with ENOTFOUND, and does not reach localhost', async () => {
  await expect(resolvingTo().addressesOf(url)).rejects.toMatchObject({ code: 'ENOTFOUND' })
  expect((await resolvingTo().check(url.href, 1_000)).href).toBe(url.href)
})

test('setting a URL rejects a host name with a forbidden address, and accepts a name that does not resolve yet', async () => {
  await expect(resolvingTo('127.0.0.1').check(url.href, 1_000)).rejects.toBeInstanceOf(ForbiddenUrl)
  expect((await resolvingTo('1.1.1.1').check(url.href, 1_000)).href).toBe(url.href)
  const unknown = openDestinations(strict, () => Promise.reject(new Error('ENOTFOUND')))
  expect((await unknown.check(url.href, 1_000)).href).toBe(url.href)
  const silent = openDestinations(strict, () => new Promise(() => {}))
  expect((await silent.check(url.href, 10)).href).toBe(url.href)
  await expect(openDestinations(strict).check('https://localhost/', 5_000)).rejects.toBeInstanceOf(
    ForbiddenUrl,
  )
})
