import * as argon2 from '@node-rs/argon2'
import { crc32 } from 'node:zlib'
import { openScene, register, upTo } from '../kit.ts'
import { openPasswords } from '../../src/identity/passwords.ts'
import { isApiToken, newApiToken } from '../../src/identity/tokens.ts'
import { tokenSession } from '../../src/identity/sessions.ts'
import { openEncryption } from '../../src/identity/secrets.ts'

const digits = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz'
const valueOf = (text: string) =>
  [...text].reduce((sum, digit) => sum * 62n + BigInt(digits.indexOf(digit)), 0n)

test('a token consists of dkt_, 32 random bytes and their CRC-32, in base 62 with fixed widths', () => {
  const tokens = upTo(2_000).map(newApiToken)
  for (const token of tokens) {
    const [, secret, sum] = /^dkt_([0-9A-Za-z]{43})([0-9A-Za-z]{6})$/.exec(token)!
    expect(valueOf(secret!)).toBeLessThan(2n ** 256n)
    expect(valueOf(sum!)).toBe(BigInt(crc32(secret!)))
  }
  expect(new Set(tokens).size).toBe(tokens.length)
  for (let at = 5; at < 47; at++) expect(new Set(tokens.map((token) => token[at])).size).toBeGreaterThan(50)
})

test('rejects a mistyped token because of its checksum, without a query', () => {
  const token = newApiToken()
  expect(isApiToken(token)).toBeTrue()
  for (let at = 0; at < token.length; at++)
    for (const other of [...digits].filter((digit) => digit !== token[at]).slice(0, 5))
      expect(isApiToken(token.slice(0, at) + other + token.slice(at + 1))).toBeFalse()
  const swapped = token.slice(0, 20) + token[21] + token[20] + token.slice(22)
  for (const wrong of ['', 'dkt_', token + '0', token.slice(0, -1), ` ${token}`, token.toUpperCase()])
    expect(isApiToken(wrong)).toBeFalse()
  expect(isApiToken(swapped)).toBe(token[20] === token[21])
  expect(tokenSession(token).caller.userId).toBe('')
  const wrong = token.slice(0, -1) + (token.endsWith('0') ? '1' : '0')
  expect(() => tokenSession(wrong)).toThrow('The bearer token is not valid')
})

test('decrypts with every configured secret, and with no other secret', () => {
  const [first, second] = [
    'one secret of thirty-two bytes or more',
    'another secret of as many bytes as that',
  ]
  const sealed = openEncryption([first]).encrypt('dkt_secret')
  expect(sealed).not.toContain('secret')
  expect(openEncryption([second, first]).decrypt(sealed)).toBe('dkt_secret')
  expect(openEncryption([second]).decrypt(sealed)).toBeNull()
  expect(openEncryption([first]).encrypt('dkt_secret')).not.toBe(sealed)
  const changed = Buffer.from(sealed, 'base64url')
  changed[14]! ^= 1
  expect(openEncryption([first]).decrypt(changed.toString('base64url'))).toBeNull()
})

test('every failed sign-in verifies one argon2 hash of the same cost, so that its duration does not reveal whether the account exists', async () => {
  const { service, client, sql } = await openScene([], {})
  const { email: own } = await register(client)
  let costs: unknown[] = []
  const costOf = (hashed: unknown) => /^(\$[^$]*){3}/.exec(String(hashed))?.[0]
  const verify: typeof argon2.verify = (hashed, ...others) => {
    costs.push(costOf(hashed))
    return argon2.verify(hashed, ...others)
  }
  service.services.passwords.matches = openPasswords({ ...argon2, verify }).matches
  const [user] = await sql`select password_hash from users where email = ${own}`
  for (const email of [own, 'nobody@example.com', 'not an address', '']) {
    costs = []
    expect((await client.post('/auth/login', { email, password: 'secret-2' })).status).toBe(401)
    expect([email, costs]).toEqual([email, [costOf(user!.passwordHash)]])
  }
})

test("hashes passwords with the cost of OWASP's recommendation for argon2id", async () => {
  const costs: unknown[] = []
  const hash: typeof argon2.hash = (text, cost) => {
    costs.push(cost)
    return argon2.hash(text, cost)
  }
  await openPasswords({ ...argon2, hash }).hash('secret-1', '10.0.0.1')
  const recommended = { memoryCost: 19_456, timeCost: 2, parallelism: 1 }
  expect(costs).toEqual([recommended, recommended])
})
