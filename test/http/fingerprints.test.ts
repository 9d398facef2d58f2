import { createHash } from 'node:crypto'
import { expect, test } from 'bun:test'
import { hash } from '@node-rs/argon2'
import { make, register, expiresAt } from '../support/client.ts'
import { openTestService, testSecret } from '../support/service.ts'
import { unknownId, expectError } from './responses.ts'
import { unreachableUrl } from './scene.ts'
import { openScene } from '../support/scene.ts'

let hashed = 0
const { service, client, sql, ada } = await openScene(['Ada'])
const { passwords } = service.services
const own = { ...passwords }
passwords.hash = (...given) => (hashed++, own.hash(...given))
passwords.matches = (...given) => (hashed++, own.matches(...given))

const used = 'This Idempotency-Key was used for another request'
let keys = 0
const newKey = () => ({ 'idempotency-key': `key ${++keys}` })
const token = { name: 'Importer', scopes: ['read'], expiresAt }
const fingerprintOf = async (key: Record<string, string>) => {
  const [row] = await sql`select fingerprint from idempotency_keys where key = ${key['idempotency-key']!}`
  return String(row?.fingerprint)
}

test('a write without a password hashes none, whatever its key, and its repeat neither', async () => {
  const { id: projectId } = await make(ada, '/projects', { name: 'P' })
  const webhooks = `/projects/${projectId}/webhooks`
  const { id } = await make(ada, webhooks, { url: unreachableUrl })
  const writes: [status: number, method: string, path: string, body?: object][] = [
    [404, 'DELETE', `/tokens/${unknownId}`],
    [201, 'POST', '/tokens', token],
    [200, 'PATCH', '/auth/me', { name: 'King' }],
    [201, 'POST', webhooks, { url: unreachableUrl }],
    [200, 'PATCH', `${webhooks}/${id}`, { enabled: false }],
    [200, 'POST', `${webhooks}/${id}/rotate`],
    [200, 'POST', '/auth/logout-all'],
  ]
  hashed = 0
  for (const [status, method, path, body] of writes) {
    const key = newKey()
    const [first, again] = [await ada.call(method, path, body, key), await ada.call(method, path, body, key)]
    expect([first.status, again.status, again.text]).toEqual([status, status, first.text])
    if (status !== 404) expect(await fingerprintOf(key)).toMatch(/^hmac-sha256:[\w-]{43}$/)
  }
  expect(hashed).toBe(0)
})

test('a body with a password is kept as argon2id, and its repeat checked so', async () => {
  const grace = await register(client)
  const key = newKey()
  const change = (currentPassword: string) => grace.patch('/auth/me', { name: 'G', currentPassword }, key)
  expect((await change('secret-1')).status).toBe(200)
  expect(await fingerprintOf(key)).toStartWith('$argon2id$')
  expect((await change('secret-1')).headers.get('idempotency-replayed')).toBe('true')
  expectError(await change('secret-2'), 422, used)
})

test('a key that the release before kept as argon2id still answers its repeat', async () => {
  const grace = await register(client)
  const key = newKey()
  const first = await grace.patch('/auth/me', { name: 'Before' }, key)
  const said = `PATCH /api/v1/auth/me\n${JSON.stringify({ name: 'Before' })}`
  const digest = createHash('sha256').update(said).digest('base64url')
  await sql`update idempotency_keys
    set fingerprint = ${await hash(digest)} where key = ${key['idempotency-key']}`
  const again = await grace.patch('/auth/me', { name: 'Before' }, key)
  expect([again.text, again.headers.get('idempotency-replayed')]).toEqual([first.text, 'true'])
  expectError(await grace.patch('/auth/me', { name: 'Other' }, key), 422, used)
})

test('a key is known after the secret was changed, while the old one verifies', async () => {
  const grace = await register(client)
  const key = newKey()
  const first = await grace.patch('/auth/me', { name: 'Kept' }, key)
  const secrets = `the next secret is long enough too, ${testSecret}`
  const { DATABASE_URL, REDIS_URL } = service.env as Record<'DATABASE_URL' | 'REDIS_URL', string>
  await using rotated = await openTestService({ DATABASE_URL, REDIS_URL, JWT_SECRET: secrets })
  const there = rotated.client.as(grace.token)
  expect((await there.patch('/auth/me', { name: 'Kept' }, key)).text).toBe(first.text)
  expectError(await there.patch('/auth/me', { name: 'Other' }, key), 422, used)
})
