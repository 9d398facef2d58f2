import { once } from 'node:events'
import { Agent, type IncomingMessage, request as open } from 'node:http'
import { chunk, eventually, expectError, expectRawError, forFile, make, makeToken } from '../kit.ts'
import { openDatabase, readConfig, requestHead, sendRaw, spawnService, words } from '../kit.ts'
import { openRawClient } from './raw-client.ts'

const { env, web, ada, projectId, withToken, send } = await forFile(openRawClient({ LOG_REQUESTS: 'on' }))
const anonymous = ada.as()

const json = { 'Content-Type': 'application/json' }

async function logged(last: string): Promise<Record<string, unknown>[]> {
  await eventually(`a log line with ${last}`, () => web.output.some((line) => line.includes(last)))
  return web.output.filter((line) => line.includes('"requestId"')).map((line) => JSON.parse(line))
}

test('logs one line per request with caller, route, status and duration', async () => {
  const { id } = await make(ada, '/projects', { name: 'P' })
  const { id: tokenId, token } = await makeToken(ada, { scopes: ['read'] })
  const trace = '0af7651916cd43dd8448eb211c80319c'
  const answers = [
    await ada.get(`/projects/${id}?`, { traceparent: `00-${trace}-b7ad6b7169203331-01` }),
    await ada.post('/tasks', { title: 'T', projectId: id }),
    await ada.patch('/projects/none', { name: 'Q' }),
    await ada.as(token).get('/projects/none'),
    await anonymous.get('/auth/me'),
  ]
  const ids = answers.map(({ headers }) => headers.get('x-request-id'))
  const lines = await logged(ids[4]!)
  const found = ids.map((id) => lines.filter(({ requestId }) => requestId === id))
  expect(found.map((one) => one.length)).toEqual([1, 1, 1, 1, 1])
  const common = { level: 30, time: expect.any(String), msg: 'answered', ms: expect.any(Number) }
  const line = (n: number, rest: object) =>
    expect(found[n]![0] as object).toEqual({ ...common, requestId: ids[n], ...rest })
  const projects = '/api/v1/projects/:id'
  const traced = { trace_id: trace, userId: ada.id, projectId: id }
  line(0, { ...traced, method: 'GET', route: projects, status: 200 })
  line(1, { userId: ada.id, projectId: id, method: 'POST', route: '/api/v1/tasks', status: 201 })
  line(2, { userId: ada.id, projectId: 'none', method: 'PATCH', route: projects, status: 404 })
  line(3, { userId: ada.id, tokenId, projectId: 'none', method: 'GET', route: projects, status: 404 })
  line(4, { method: 'GET', route: '/api/v1/auth/me', status: 401 })
  expect(JSON.stringify(lines)).not.toContain(token)
})

test('a failed request is logged once; neither the log nor an error contains a secret, token, password or body', async () => {
  const secrets = ['hunter2-hunter2', 'hunter3-hunter3', 'the words of a comment']
  const [first, second, words] = secrets as [string, string, string]
  const email = 'careful@example.com'
  const database = openDatabase(readConfig(env))
  const sql = database.reads
  const errors: string[] = []
  const send = async (answer: Promise<{ text: string; status: number; body: { access_token?: string } }>) => {
    const { text, status, body } = await answer
    if (status >= 400) errors.push(text)
    return body
  }
  const registered = await send(anonymous.post('/auth/register', { name: 'C', email, password: first }))
  const careful = anonymous.as(registered.access_token)
  await send(anonymous.post('/auth/register', { name: 'C', email, password: first }))
  await send(anonymous.post('/auth/login', { email, password: second }))
  await send(anonymous.post('/auth/register', { name: 7, email: first, password: { first } }))
  await send(careful.patch('/auth/me', { password: second, currentPassword: second }))
  await send(careful.as(`${careful.token}x`).get('/auth/me'))
  await send(careful.get(`/tasks?cursor=${careful.token}`))
  await send(careful.post('/projects', `{"name": ${first}`))
  await sql`alter table projects rename to hidden`
  const failed = await ada.get('/projects', { 'x-secret': first })
  errors.push(failed.text)
  await sql`alter table hidden rename to projects`
  await sql`alter table users add constraint odd check (name <> ${sql.unsafe(`'${words}'`)})`
  await send(careful.patch('/auth/me', { name: words }))
  await database.close()
  expect(errors).toHaveLength(9)
  expectError(failed, 500, 'An unexpected error occurred in the service')
  const id = failed.headers.get('x-request-id')
  const lines = (await logged('"status":500')).filter(({ requestId }) => requestId === id)
  const line = { level: 50, userId: ada.id, method: 'GET', route: '/api/v1/projects', status: 500 }
  expect(lines).toMatchObject([{ ...line, error: { code: '42P01' } }])
  const { DATABASE_URL, JWT_SECRET } = env
  secrets.push(careful.token!, careful.token!.split('.')[2]!, JWT_SECRET!, new URL(DATABASE_URL!).password)
  const all = [...errors, ...web.output].join('\n')
  for (const secret of secrets) expect([secret, all.includes(secret)]).toEqual([secret, false])
  for (const inside of ['postgres', 'select', 'hidden', '/src/', 'constraint'])
    expect([inside, errors.join('\n').toLowerCase().includes(inside)]).toEqual([inside, false])
})

test('HEAD returns the Content-Length of GET without a body, for every path', async () => {
  for (const path of ['/api/v1/projects', `/api/v1/projects/${projectId}`, '/api/docs', '/nowhere']) {
    const { status, head, body } = await send('HEAD', path)
    const got = await send('GET', path)
    expect([path, status, body]).toEqual([path, got.status, ''])
    const length = Buffer.byteLength(got.body)
    expect(head.toLowerCase()).toContain(`content-length: ${length}`)
  }
})

test('a path or query up to the length limit is read, and a longer one is rejected with 414', async () => {
  for (const length of [2_000, 8_000]) {
    const long = 'a'.repeat(length)
    expectError(await ada.get(`/projects/${long}`), 404)
    expectError(await ada.get(`/tasks?cursor=${long}`), 400)
  }
  for (const path of ['/projects/', '/tasks?cursor='])
    expectError(await ada.get(path + 'a'.repeat(15_000)), 414)
  for (const length of [20_000, 200_000]) {
    const { status } = await send('GET', `/api/v1/projects/${'a'.repeat(length)}`)
    expect([0, 404, 414, 431]).toContain(status)
  }
  expect((await ada.get('/projects')).status).toBe(200)
})

test('rejects a malformed path with 404', async () => {
  for (const part of words('% %zz %ff %c0%af %00 ..%2f..%2fetc \\ {} <> " | %u0000 %20')) {
    for (const path of [`/projects/${part}`, `/tasks/${part}/comments`])
      expectRawError(await send('GET', `/api/v1${path}`), 404)
    expectRawError(await send('DELETE', `/api/v1/projects/${projectId}/members/${part}`), 404)
  }
  for (const path of words('/../../etc/passwd // /api/v1/../../x /api/docs/assets/../../../package.json'))
    expectRawError(await send('GET', path), 404)
})

test('closes a connection that does not send HTTP', async () => {
  for (const noise of ['\r\n\r\n', 'GET\r\n\r\n', '\x16\x03\x01\x02\0\x01\0', 'GET / HTTP/9.9\r\n\r\n']) {
    const { status } = await sendRaw(web.url, noise)
    expect([0, 400, 404, 505]).toContain(status)
  }
})

test('serves requests with any Host header', async () => {
  for (const title of ['First', 'Second']) await make(ada, '/tasks', { projectId, title })
  const body = JSON.stringify({ name: 'Engine' })
  for (const Host of ['a:b', 'docket.test:99999', '[', 'undefined:undefined', 'ä', '%']) {
    const listed = await send('GET', `/api/v1/tasks?projectId=${projectId}&limit=1`, { Host })
    expect([Host, listed.status]).toEqual([Host, 200])
    expect(listed.head).toMatch(/\r\nlink: <\/api\/v1\/tasks\?projectId=[^>]*&cursor=[^>]*>; rel="next"/i)
    const headers = {
      Host,
      ...json,
      'Content-Length': body.length,
      'Idempotency-Key': `at ${Bun.hash(Host)}`,
    }
    const first = await send('POST', '/api/v1/projects', headers, body)
    const second = await send('POST', '/api/v1/projects', headers, body)
    expect([Host, first.status, second.status, second.body]).toEqual([Host, 201, 201, first.body])
    expectRawError(await send('PUT', '/api/v1/projects', { Host }), 405)
  }
})

test('several requests can share a connection, also after an error', async () => {
  const agent = new Agent({ keepAlive: true, maxSockets: 1 })
  const statuses: string[] = []
  for (const request of ['GET /auth/me', 'POST /projects', 'GET /no', 'GET /auth/me']) {
    const [method, path] = request.split(' ')
    const sent = open(`${web.url}/api/v1${path}`, { agent, method, headers: { ...withToken, ...json } })
    sent.end(method === 'POST' ? '{' : undefined)
    const [answer] = (await once(sent, 'response')) as [IncomingMessage]
    await answer.resume().toArray()
    statuses.push(`${answer.statusCode} ${sent.reusedSocket ? 'again' : 'first'}`)
  }
  agent.destroy()
  expect(statuses).toEqual(['200 first', '400 again', '404 again', '200 again'])
})

test('paths and queries are decoded in the same way with and without a socket', async () => {
  const { body } = await ada.get(`/projects/${projectId.toUpperCase()}`)
  expect(body.id).toBe(projectId)
  expectError(await ada.get('/projects?limit=1&limit=2'), 400, 'limit is given more than once')
  const root = await send('GET', '/api')
  expect([root.status, root.head]).toEqual([302, expect.stringMatching(/^location: \/api\/docs$/im)])
})

const putRaw = (segment: string) => {
  const body = '{"title":"Drawn"}'
  const headers = { ...json, 'Content-Length': body.length }
  return send('PUT', `/api/v1/projects/${projectId}/tasks/external/${segment}`, headers, body)
}

test('an external id in a path is stored as it was sent, or gets 400', async () => {
  const sent: Record<string, string> = {
    ...{ '...': '...', 'a.': 'a.', '%2f': '/', 'a%2Fb': 'a/b', '%5c': '\\', '%5C..%5C': '\\..\\', ';': ';' },
    ...{ '..;a=1': '..;a=1', '%252e%252e': '%2e%2e', '%2e%2e%2fx': '../x', 'a#b': 'a#b', '%2e%2ea': '..a' },
    ...{ 'AB12-%C3%84': 'AB12-Ä', '..%3F': '..?', 'a%2e': 'a.', '%2525': '%25' },
  }
  for (const [segment, externalId] of Object.entries(sent)) {
    const { status, body } = await putRaw(segment)
    expect([segment, status]).toEqual([segment, status === 200 ? 200 : 201])
    expect((JSON.parse(body) as { externalId: string }).externalId).toBe(externalId)
  }
  const dots = ['.', '..', '%2e', '%2E%2e', '.%2e', '%2e.']
  const backslashes = words(String.raw`a\b ..\x ..\x\y ..\external\y \..\z %2e%2e\external\y y\ `)
  const { length } = (await ada.get(`/tasks?projectId=${projectId}`)).body
  for (const segment of [...dots, ...backslashes]) {
    const answer = await putRaw(segment)
    expect([segment, answer.status]).toEqual([segment, 400])
    expect(answer.body).toContain('externalId must not be')
  }
  expect((await ada.get(`/tasks?projectId=${projectId}`)).body).toHaveLength(length)
})

test('a path parameter of dots or backslashes is never another segment of the path', async () => {
  const { body } = await send('GET', '/api/docs/json')
  const { paths } = JSON.parse(body) as { paths: Record<string, Record<string, unknown>> }
  const routes = Object.entries(paths).flatMap(([path, methods]) =>
    Object.keys(methods).map((method) => ({ method: method.toUpperCase(), path })),
  )
  const parameter = /\{(\w+)\}/g
  const content = { ...json, 'Content-Length': 2 }
  let sent = 0
  for (const { method, path } of routes)
    for (const { index, 0: name } of path.matchAll(parameter))
      for (const value of words(String.raw`.. %2e%2e . ..%2f.. ..\ID %2e%2e\projects\ID`)) {
        const target = path.slice(0, index) + value.replace('ID', projectId) + path.slice(index + name.length)
        const headers = method === 'GET' ? {} : content
        const filled = target.replaceAll(parameter, projectId)
        const { status } = await send(method, filled, headers, ...(method === 'GET' ? [] : ['{}']))
        expect([method, target, status]).toEqual([method, target, status === 400 ? 400 : 404])
        sent++
      }
  expect(sent).toBeGreaterThan(200)
})

test('a path that matches a route only after its normalization gets 404', async () => {
  const { id } = await make(ada, '/tasks', { projectId, title: 'Kept' })
  const project = `/api/v1/projects/${projectId}`
  const ofProject = words(
    String.raw`labels/.. labels/%2e%2e webhooks/../ webhooks\x/../.. a/b/../.. /.. //../ .`,
  )
  const ofTask = [...words('comments/.. comments/%2E%2E ./'), `../../projects/../tasks/${id}`]
  const paths = [
    ...ofProject.map((path) => `${project}/${path}`),
    ...[`${project}${'/x'.repeat(20)}${'/..'.repeat(20)}`, `/x/..${project}`, `/%2e${project}`],
    ...ofTask.map((path) => `/api/v1/tasks/${id}/${path}`),
    ...words(String.raw`/api/v1/tokens/../auth/me /api/v1/x/%2e%2e/auth/me /api\v1/auth/me`),
  ]
  for (const path of paths) expectRawError(await send('DELETE', path), 404)
  expect((await ada.get(`/tasks/${id}`)).status).toBe(200)
  const { length } = (await ada.get(`/tasks?projectId=${projectId}`)).body
  for (const segment of ['a/../b', './b', '%2e%2e/external/b', 'b/.', 'b/%2e', '../external\\b/'])
    expectRawError(await putRaw(segment), 404)
  expect((await ada.get(`/tasks?projectId=${projectId}`)).body).toHaveLength(length)
  expect(JSON.parse((await putRaw('b/')).body)).toMatchObject({ externalId: 'b' })
})

const mebi = 1_048_576
const chunked = { ...json, 'Transfer-Encoding': 'chunked' }

test('a request that is rejected anyway gets its usual error also with a body above the limit', async () => {
  const large = 'x'.repeat(8 * mebi)
  expectError(await anonymous.post('/projects', large), 401)
  expectError(await ada.post('/nowhere', large), 404)
  expectError(await ada.post('/projects', large, { 'content-type': 'text/plain' }), 415)
  expectError(await ada.delete('/projects/none'), 404)
})

test('a body in several chunks is read as one body', async () => {
  const pieces = ['{"title":', '"In pieces","projectId"', `:"${projectId}"}`]
  const answer = await send('POST', '/api/v1/tasks', chunked, ...pieces.map(chunk), chunk(''))
  expect([answer.status, answer.body]).toEqual([201, expect.stringContaining('"title":"In pieces"')])
})

test('an incomplete body is not logged as an error of the service', async () => {
  const errors = () => web.output.filter((line) => line.includes('"level":50'))
  const before = errors()
  await send('POST', '/api/v1/projects', chunked, 'no chunk\r\n')
  await send('POST', '/api/v1/projects', chunked, chunk('x'.repeat(3 * mebi)))
  expect(errors()).toEqual(before)
})

test.each([
  ['headers', 431, 'GET', '/projects', { 'X-Long': 'x'.repeat(20_000) }],
  ['a URL', 414, 'GET', `/tasks?cursor=${'x'.repeat(8_200)}`, {}],
  ['a Content-Length', 413, 'POST', '/projects', { ...json, 'Content-Length': '9999999999' }],
])('rejects %s beyond the limit with %d', async (_, status, method, path, headers) => {
  expect((await send(method, `/api/v1${path}`, headers as Record<string, string>)).status).toBe(status)
})

test('a body that does not arrive in time gets 408, and the connection is closed', async () => {
  const impatient = await forFile(spawnService('web', { ...env, BODY_TIMEOUT_MS: '300' }))
  const headers = { ...withToken, ...json, Connection: 'keep-alive', 'Content-Length': '100' }
  const head = requestHead('POST', '/api/v1/projects', headers)
  const message = 'The body must arrive within 300 ms'
  for (const part of ['', '{"name":', '{"name":"P"']) {
    const { status, body } = await sendRaw(impatient.url, head, part)
    expect(status).toBe(408)
    expect(JSON.parse(body)).toEqual({ statusCode: 408, message, error: 'Request Timeout' })
  }
})
