import { openMailScene } from '../mail/scene.ts'
import { fillPath, makeToken, openScene, openTestService, operationOf, operationsOf } from '../kit.ts'
import { register, undocumentedParts, withToken, words } from '../kit.ts'
import type { Client, OpenApi } from '../kit.ts'
import { createOwnImport, endingUndo } from './own-import.ts'
import { createOwnProject, exampleFor, queryFor } from './own-project.ts'

/** Operations with a kind of response that a test got: success or error. */
const outcomes = new Set<string>()
const { client, sql, ada } = await openScene(['Ada'])
const api = (await client.get('/../docs/json')).body as unknown as OpenApi

async function call(caller: Client, method: string, path: string, body?: unknown, headers = {}) {
  const response = await caller.call(method, path, body, headers)
  const [name, operation] = operationOf(api, method, path)
  expect([name, undocumentedParts(api, operation, response)]).toEqual([name, []])
  outcomes.add(`${name} ${response.status < 400 ? 'success' : 'error'}`)
  return response
}

async function callVariants(caller: Client, method: string, path: string, body?: object) {
  const repeated = method === 'GET' ? { 'if-none-match': '*' } : { 'idempotency-key': `${method} ${path}` }
  const [, { parameters }] = operationOf(api, method, path)
  const ifMatch = parameters.some(({ name }) => name === 'If-Match') ? [{ 'if-match': '"other"' }] : []
  for (const headers of [{}, repeated, repeated, ...ifMatch, { 'idempotency-key': '""' }])
    await call(caller, method, path, body, headers)
  if (body) for (const invalid of ['{', '{}']) await call(caller, method, path, invalid)
}

async function registerCallers() {
  const [owner, guest, stranger] = [await register(client), await register(client), await register(client)]
  return { owner, guest, stranger, program: await withToken(owner) }
}

test("responses to the document's example requests are documented, for every kind of caller", async () => {
  const account = { name: 'Ada', email: 'ada@example.com', password: 'secret-1' }
  for (const body of [account, account]) await call(client, 'POST', '/auth/register', body)
  for (const password of ['secret-1', 'wrong'])
    await call(client, 'POST', '/auth/login', { ...account, password })
  const shared = await registerCallers()
  for (const [name, operation] of operationsOf(api)) {
    const [method = '', path = ''] = name.split(' ')
    // Operations on an account may delete it, and an export of the account has a file for each of its projects.
    const isOwn = path.includes('/auth/') || path === '/api/v1/export'
    const { owner, guest, stranger, program } = isOwn ? await registerCallers() : shared
    const ids = await createOwnProject(owner, guest, stranger)
    const ofAccount = `/projects/${ids.projectId}/service-accounts/${ids.accountId}/tokens`
    const tokens = path.startsWith('/api/v1/tokens') ? undefined : ofAccount
    const { id: tokenId } = await makeToken(owner, {}, tokens)
    const importId = await createOwnImport(sql, owner, ids, operation)
    const body = exampleFor(operation, ids) as Record<string, unknown> | undefined
    if (body?.currentPassword) body.currentPassword = account.password
    const filled = fillPath(path, { ...ids, tokenId, importId }) + queryFor(operation, ids.projectId)
    for (const caller of [owner.as(), program, stranger, guest, owner])
      await endingUndo(sql, operation, callVariants(caller, method.toUpperCase(), filled, body))
  }
})

test('responses of operations outside of projects are documented, also compressed responses', async () => {
  for (const path of words('/projects?limit=1 /projects?limit=0 /tasks?x=1 /search?q=x'))
    for (const caller of [ada, client]) await call(caller, 'GET', path)
  await call(ada, 'POST', '/projects', { name: 'P', description: 'long '.repeat(2_000) })
  for (const after of [{ [ada.id]: 0 }, { x: -1 }]) await call(ada, 'POST', '/events/read', { after })
  const compressed = await ada.get('/projects', { 'accept-encoding': 'gzip' })
  expect(compressed.headers.get('content-encoding')).toBe('gzip')
  const { text, body } = await ada.get('/projects')
  const [, operation] = operationOf(api, 'GET', '/projects')
  expect(undocumentedParts(api, operation, { ...compressed, text, body })).toEqual([])
})

test('responses of exceeded rate limits are documented', async () => {
  await using strict = await openTestService({ READS_PER_MINUTE: '1', WRITES_PER_MINUTE: '1' })
  const caller = await register(strict.client)
  for (const [method, body] of [['GET'], ['POST', { name: 'P' }]] as const)
    for (const isLimited of [false, true])
      expect((await call(caller, method, '/projects', body)).status === 429).toBe(isLimited)
})

test('responses about mail are documented', async () => {
  await using scene = await openMailScene()
  const { client, server } = scene
  const ada = await register(client)
  for (const caller of [client, ada]) await call(caller, 'POST', '/auth/email/resend')
  const { token } = await server.mail(ada.email)
  for (const _ of [1, 2]) await call(client, 'POST', '/auth/email/verify', { token })
  await call(ada, 'POST', '/auth/email/resend')
  for (const email of [ada.email, 'no address'])
    await call(client, 'POST', '/auth/password/forgot', { email })
  const reset = await server.mail(ada.email, 3)
  for (const password of ['12345', 'secret-2', 'secret-3'])
    await call(client, 'POST', '/auth/password/reset', { token: reset.token, password })
})

test('these tests got a success and an error from every operation', () => {
  const names = [...operationsOf(api).keys()]
  expect([...outcomes].sort()).toEqual(names.flatMap((name) => [`${name} error`, `${name} success`]).sort())
})
