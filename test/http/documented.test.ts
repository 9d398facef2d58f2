import { expect, test } from 'bun:test'
import { type Answer, type Client, makeToken, register, withToken } from '../support/client.ts'
import { type OpenApi, operationOf, operationsOf, undocumentedParts } from '../support/schema-check.ts'
import { openTestService } from '../support/service.ts'
import { openMailScene } from '../mail/scene.ts'
import { endpoints } from './endpoints.ts'
import { exampleFor, createOwnProject } from './own-project.ts'
import { createFullProject, openTeam, fillPath } from './scene.ts'
import { words } from '../support/words.ts'

const seen = new Set<string>()
const { client, people, guest } = await openTeam(['Guest'])
const api = (await client.get('/../docs/json')).body as unknown as OpenApi

/** Calls, and holds the answer to what the document says of the operation. */
async function call(who: Client, method: string, path: string, body?: unknown, headers = {}) {
  const answer: Answer = await who.call(method, path, body, headers)
  const [name, operation] = operationOf(api, method, path)
  expect([name, undocumentedParts(api, operation, answer)]).toEqual([name, []])
  seen.add(`${name} ${answer.status < 400 ? 'done' : 'refused'}`)
  return answer
}

/** Asks for all that may be asked: under a condition or a key, twice, and with a body that is wrong. */
async function callAll(who: Client, method: string, path: string, body?: object) {
  const again = method === 'GET' ? { 'if-none-match': '*' } : { 'idempotency-key': `${method} ${path}` }
  const [, { parameters }] = operationOf(api, method, path)
  const other = parameters.some(({ name }) => name === 'If-Match') ? { 'if-match': '"other"' } : {}
  for (const headers of [{}, again, again, other, { 'idempotency-key': '""' }])
    await call(who, method, path, body, headers)
  if (body) for (const wrong of ['{', '{}']) await call(who, method, path, wrong)
}

test('answers inside a project are as documented', async () => {
  for (const { method, path, body, allowedRoles } of endpoints) {
    const things = await createFullProject(people, guest)
    const doer = people[allowedRoles.at(-1)!]
    for (const who of [doer.as(), people.stranger, people.viewer, doer, doer])
      await callAll(who, method, path(things), body?.(things))
  }
})

test('answers to the examples of the document are as documented', async () => {
  const account = { name: 'Ada', email: 'ada@example.com', password: 'secret-1' }
  for (const body of [account, account]) await call(client, 'POST', '/auth/register', body)
  for (const password of ['secret-1', 'wrong'])
    await call(client, 'POST', '/auth/login', { ...account, password })
  for (const [name, operation] of operationsOf(api)) {
    const [method = '', path = ''] = name.split(' ')
    const who = await register(client)
    const ids = await createOwnProject(who, guest, people.stranger)
    const ofAccount = `/projects/${ids.projectId}/service-accounts/${ids.accountId}/tokens`
    const { id: tokenId } = await makeToken(
      who,
      {},
      path.includes('service-accounts') ? ofAccount : undefined,
    )
    const program = await withToken(who)
    const body = exampleFor(operation, ids) as Record<string, unknown> | undefined
    if (body?.currentPassword) body.currentPassword = account.password
    const at = fillPath(path, { ...ids, tokenId })
    for (const one of [who.as(), program, people.stranger, who])
      await callAll(one, method.toUpperCase(), at, body)
  }
})

test('answers outside of projects are as documented', async () => {
  for (const path of words('/projects?limit=1 /projects?limit=0 /tasks?x=1'))
    for (const who of [people.owner, client]) await call(who, 'GET', path)
  const long = { name: 'P', description: 'long '.repeat(2_000) }
  await call(people.owner, 'POST', '/projects', long)
  for (const after of [{ [people.owner.id]: 0 }, { x: -1 }])
    await call(people.owner, 'POST', '/events/read', { after })
  const packed = await people.owner.get('/projects', { 'accept-encoding': 'gzip' })
  expect(packed.headers.get('content-encoding')).toBe('gzip')
  const { text, body } = await people.owner.get('/projects')
  const [, operation] = operationOf(api, 'GET', '/projects')
  expect(undocumentedParts(api, operation, { ...packed, text, body })).toEqual([])
})

test('the answer to who asks too often is as documented', async () => {
  await using strict = await openTestService({ READS_PER_MINUTE: '1', WRITES_PER_MINUTE: '1' })
  const someone = await register(strict.client)
  for (const method of ['GET', 'POST'])
    for (const isMet of [true, false]) {
      const body = method === 'POST' ? { name: 'P' } : undefined
      const { status } = await call(someone, method, '/projects', body)
      expect(status === 429).toBe(!isMet)
    }
})

test('answers about mails are as documented', async () => {
  await using scene = await openMailScene()
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
})

test('every operation was seen to succeed and to refuse', () => {
  const names = [...operationsOf(api).keys()]
  expect([...seen].sort()).toEqual(names.flatMap((name) => [`${name} done`, `${name} refused`]).sort())
})
