import { eventually, expectError, forFile, make, makeToken, openDatabase, openWebProcess } from '../kit.ts'
import { readConfig, requestHead, sendRaw, spawnService } from '../kit.ts'

const { web, env, ada } = await openWebProcess({ LOG_REQUESTS: 'on' })
const anonymous = ada.as()

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

const bearer = { Authorization: `Bearer ${ada.token}` }
const json = { ...bearer, 'Content-Type': 'application/json' }

test.each([
  ['headers', 431, 'GET', '/projects', { ...bearer, 'X-Long': 'x'.repeat(20_000) }],
  ['a URL', 414, 'GET', `/tasks?cursor=${'x'.repeat(8_200)}`, bearer],
  ['a Content-Length', 413, 'POST', '/projects', { ...json, 'Content-Length': '9999999999' }],
])('rejects %s beyond the limit with %d', async (_, status, method, path, headers) => {
  expect((await sendRaw(web.url, requestHead(method, `/api/v1${path}`, headers))).status).toBe(status)
})

test('a body that does not arrive in time gets 408, and the connection is closed', async () => {
  const impatient = await forFile(spawnService('web', { ...env, BODY_TIMEOUT_MS: '300' }))
  const headers = { ...json, Connection: 'keep-alive', 'Content-Length': '100' }
  const head = requestHead('POST', '/api/v1/projects', headers)
  const message = 'The body must arrive within 300 ms'
  for (const part of ['', '{"name":', '{"name":"P"']) {
    const { status, body } = await sendRaw(impatient.url, head, part)
    expect(status).toBe(408)
    expect(JSON.parse(body)).toEqual({ statusCode: 408, message, error: 'Request Timeout' })
  }
})
