import { createHash } from 'node:crypto'
import { hash } from '@node-rs/argon2'
import { expectError, expiresAt, isReplay, make, openScene, openTestService, register } from '../kit.ts'
import { testSecret, unknownId, unreachableUrl } from '../kit.ts'

let hashes = 0
const { service, client, sql, ada } = await openScene(['Ada'])
const { passwords } = service.services
const original = { ...passwords }
passwords.hash = (...given) => (hashes++, original.hash(...given))
passwords.matches = (...given) => (hashes++, original.matches(...given))

const keyReused = 'This Idempotency-Key was used for another request'
let keys = 0
const newKey = () => ({ 'idempotency-key': `key ${++keys}` })
const fingerprintOf = async (key: Record<string, string>) => {
  const [row] = await sql`select fingerprint from idempotency_keys where key = ${key['idempotency-key']!}`
  return String(row?.fingerprint)
}

test('the fingerprint of a write without a password is an HMAC, so no password is hashed', async () => {
  const { id: projectId } = await make(ada, '/projects', { name: 'P' })
  const webhooks = `/projects/${projectId}/webhooks`
  const { id } = await make(ada, webhooks, { url: unreachableUrl })
  const writes: [status: number, method: string, path: string, body?: object][] = [
    [404, 'DELETE', `/tokens/${unknownId}`],
    [201, 'POST', '/tokens', { name: 'Importer', scopes: ['read'], expiresAt }],
    [200, 'PATCH', '/auth/me', { name: 'King' }],
    [201, 'POST', webhooks, { url: unreachableUrl }],
    [200, 'PATCH', `${webhooks}/${id}`, { enabled: false }],
    [200, 'POST', `${webhooks}/${id}/rotate`],
    [200, 'POST', '/auth/logout-all'],
  ]
  hashes = 0
  for (const [status, method, path, body] of writes) {
    const key = newKey()
    const [first, retry] = [await ada.call(method, path, body, key), await ada.call(method, path, body, key)]
    expect([first.status, retry.status, retry.text]).toEqual([status, status, first.text])
    if (status !== 404) expect(await fingerprintOf(key)).toMatch(/^hmac-sha256:[\w-]{43}$/)
  }
  expect(hashes).toBe(0)
})

test('the fingerprint of a write with a password is an argon2id hash', async () => {
  const grace = await register(client)
  const key = newKey()
  const change = (currentPassword: string) => grace.patch('/auth/me', { name: 'G', currentPassword }, key)
  expect((await change('secret-1')).status).toBe(200)
  expect(await fingerprintOf(key)).toStartWith('$argon2id$')
  expect(isReplay(await change('secret-1'))).toBeTrue()
  expectError(await change('secret-2'), 422, keyReused)
})

test('the argon2id fingerprint of an earlier release still matches', async () => {
  const grace = await register(client)
  const key = newKey()
  const first = await grace.patch('/auth/me', { name: 'Before' }, key)
  const request = `PATCH /api/v1/auth/me\n${JSON.stringify({ name: 'Before' })}`
  const digest = createHash('sha256').update(request).digest('base64url')
  await sql`update idempotency_keys
    set fingerprint = ${await hash(digest)} where key = ${key['idempotency-key']}`
  const retry = await grace.patch('/auth/me', { name: 'Before' }, key)
  expect([retry.text, isReplay(retry)]).toEqual([first.text, true])
  expectError(await grace.patch('/auth/me', { name: 'Other' }, key), 422, keyReused)
})

test('a fingerprint still matches after a new secret is put first in JWT_SECRET', async () => {
  const grace = await register(client)
  const key = newKey()
  const first = await grace.patch('/auth/me', { name: 'Kept' }, key)
  const secrets = `the next secret is long enough too, ${testSecret}`
  const { DATABASE_URL = '', REDIS_URL = '' } = service.env
  await using rotated = await openTestService({ DATABASE_URL, REDIS_URL, JWT_SECRET: secrets })
  const atRotated = rotated.client.as(grace.token)
  expect((await atRotated.patch('/auth/me', { name: 'Kept' }, key)).text).toBe(first.text)
  expectError(await atRotated.patch('/auth/me', { name: 'Other' }, key), 422, keyReused)
})
