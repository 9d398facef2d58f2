import { expect, test } from 'bun:test'
import { type Answer, type Person, register, expiresAt } from '../support/client.ts'
import { type OpenApi, operationOf, operationsOf, undocumented } from '../support/schema-check.ts'
import { openTestService, type TestService } from '../support/service.ts'
import { openMailScene } from '../mail/scene.ts'
import { endpoints } from './endpoints.ts'
import { furnish, openTeam } from './scene.ts'
import { words } from '../support/words.ts'

/** Operations that succeeded and that refused. */
const seen = new Set<string>()
const { service, people, guest } = await openTeam(['Guest'])
const api = (await service.client.get('/../docs/json')).body as unknown as OpenApi

/** Calls, and holds the answer to what the document says of the operation. */
async function call(
  who: Person | TestService['client'],
  method: string,
  path: string,
  body?: unknown,
  headers = {},
) {
  const answer: Answer = await who.call(method, path, body, headers)
  const [name, operation] = operationOf(api, method, path)
  expect([name, undocumented(api, operation, answer)]).toEqual([name, []])
  seen.add(`${name} ${answer.status < 400 ? 'done' : 'refused'}`)
}

test('answers inside a project are as documented', async () => {
  for (const { method, path: pathTo, body: bodyFor, may } of endpoints) {
    const things = await furnish(people, guest)
    const path = pathTo(things)
    const body = bodyFor?.(things)
    const doer = people[may.at(-1)!]
    for (const who of [doer.as(), people.stranger, people.viewer, doer, doer]) {
      await call(who, method, path, body)
      if (method === 'GET') {
        await call(who, method, path, undefined, { 'if-none-match': '*' })
      } else {
        const key = { 'idempotency-key': `${method} ${path}` }
        for (const _ of [1, 2]) await call(who, method, path, body, key)
      }
      if (body) for (const wrong of ['{', '{}']) await call(who, method, path, wrong)
    }
  }
})

test('answers outside of projects are as documented', async () => {
  const { client } = service
  const account = { name: 'Ada', email: 'ada@example.com', password: 'secret-1' }
  for (const body of [account, account, {}]) await call(client, 'POST', '/auth/register', body)
  for (const password of ['secret-1', 'wrong'])
    await call(client, 'POST', '/auth/login', { ...account, password })
  for (const path of words('/auth/me /projects /projects?limit=1 /projects?limit=0 /tasks /tasks?x=1')) {
    for (const who of [people.owner, client]) await call(who, 'GET', path)
  }
  for (const body of [{ name: 'P', description: 'long '.repeat(2_000) }, {}]) {
    await call(people.owner, 'POST', '/projects', body)
  }
  await call(people.owner, 'POST', '/events/read', { after: { [people.owner.id]: 0 } })
  for (const body of [{}, { after: { x: -1 } }]) await call(people.owner, 'POST', '/events/read', body)
  for (const who of [people.owner, client]) await call(who, 'GET', '/events')
  const packed = await people.owner.get('/projects', { 'accept-encoding': 'gzip' })
  expect(packed.headers.get('content-encoding')).toBe('gzip')
  const { text, body } = await people.owner.get('/projects')
  const [, operation] = operationOf(api, 'GET', '/projects')
  expect(undocumented(api, operation, { ...packed, text, body })).toEqual([])
})

test('the answer to who asks too often is as documented', async () => {
  await using strict = await openTestService({ READS_PER_MINUTE: '1', WRITES_PER_MINUTE: '1' })
  const someone = await register(strict.client)
  for (const [method, path, body] of [
    ['GET', '/projects'],
    ['POST', '/projects', { name: 'P' }],
  ] as const) {
    const [, operation] = operationOf(api, method, path)
    for (const isMet of [true, false]) {
      const answer = await someone.call(method, path, body)
      expect(answer.status === 429).toBe(!isMet)
      expect(undocumented(api, operation, answer)).toEqual([])
    }
  }
})

test('answers about an account are as documented', async () => {
  const password = { password: 'secret-2', currentPassword: 'secret-1' }
  const writes: [method: string, path: string, body?: object][] = [
    ['PATCH', '/auth/me', { name: 'Ada' }],
    ['PATCH', '/auth/me', password],
    ['POST', '/auth/logout'],
    ['POST', '/auth/logout-all'],
    ['DELETE', '/auth/me'],
  ]
  for (const [method, path, body] of writes) {
    const someone = await register(service.client)
    const conditional = { 'idempotency-key': '""', 'if-match': '"other"' }
    await call(someone, method, path, body, conditional)
    for (const wrong of body ? ['{', '{"name":7}', { ...password, currentPassword: '' }] : []) {
      await call(someone, method, path, wrong)
    }
    for (const who of [someone.as(), someone, someone]) await call(who, method, path, body)
  }
})

test('answers about mails are as documented', async () => {
  const scene = await openMailScene()
  const { client, server } = scene
  const ada = await register(client)
  for (const who of [client, ada]) await call(who, 'POST', '/auth/email/resend')
  const { token } = await server.mail(ada.email)
  for (const _ of [1, 2]) await call(client, 'POST', '/auth/email/verify', { token })
  await call(ada, 'POST', '/auth/email/resend')
  for (const email of [ada.email, 'no address'])
    await call(client, 'POST', '/auth/password/forgot', { email })
  const reset = await server.mail(ada.email, 3)
  for (const password of ['12345', 'secret-2', 'secret-3'])
    await call(client, 'POST', '/auth/password/reset', { token: reset.token, password })
  await scene.close()
})

test('answers about tokens are as documented', async () => {
  const body = { name: 'Importer', scopes: ['read'], projects: null, expiresAt }
  const { owner } = people
  for (const who of [owner.as(), owner]) await call(who, 'POST', '/tokens', body)
  for (const wrong of ['{', {}, { ...body, expiresAt: '2020-01-01' }])
    await call(owner, 'POST', '/tokens', wrong)
  const key = { 'idempotency-key': 'a token' }
  for (const _ of [1, 2]) await call(owner, 'POST', '/tokens', body, key)
  const made = (await owner.post('/tokens', body)).body as unknown as { id: string; token: string }
  for (const who of [owner.as(made.token), owner.as(), owner]) await call(who, 'GET', '/tokens')
  await call(owner, 'GET', '/tokens', undefined, { 'if-none-match': '*' })
  await call(owner.as(made.token), 'POST', '/projects', { name: 'P' })
  for (const who of [owner.as(made.token), people.viewer]) await call(who, 'DELETE', `/tokens/${made.id}`)
  for (const _ of [1, 2]) await call(owner, 'DELETE', `/tokens/${made.id}`, undefined, key)
  for (const _ of [1, 2])
    await call(owner, 'DELETE', `/tokens/${made.id}`, undefined, { 'idempotency-key': 'end' })
  await call(owner, 'DELETE', `/tokens/${made.id}`)
})

test('answers about service accounts are as documented', async () => {
  const { projectId } = await furnish(people, guest)
  const at = `/projects/${projectId}/service-accounts`
  const everybody = [people.owner.as(), people.stranger, people.viewer, people.admin]
  const key = { 'idempotency-key': 'a service account' }
  for (const who of everybody) await call(who, 'POST', at, { name: 'Importer' })
  for (const _ of [1, 2]) await call(people.admin, 'POST', at, { name: 'Importer' }, key)
  await call(people.admin, 'POST', at, {})
  for (const who of everybody) await call(who, 'GET', at)
  await call(people.admin, 'GET', at, undefined, { 'if-none-match': '*' })
  const [{ id } = { id: '' }] = (await people.admin.get(at)).body
  const body = { name: 'T', scopes: ['write'], expiresAt }
  for (const who of everybody) await call(who, 'POST', `${at}/${id}/tokens`, body)
  for (const who of everybody) await call(who, 'GET', `${at}/${id}/tokens`)
  const [token] = (await people.admin.get(`${at}/${id}/tokens`)).body
  for (const who of everybody) await call(who, 'DELETE', `${at}/${id}/tokens/${token!.id}`)
  await call(people.admin, 'DELETE', `${at}/${id}`, undefined, { 'if-match': '"other"' })
  for (const who of [...everybody, people.admin]) await call(who, 'DELETE', `${at}/${id}`)
})

test('every operation was seen to succeed and to refuse', () => {
  const names = [...operationsOf(api).keys()]
  expect([...seen].sort()).toEqual(names.flatMap((name) => [`${name} done`, `${name} refused`]).sort())
})
