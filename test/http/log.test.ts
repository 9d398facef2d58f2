import { expect, test } from 'bun:test'
import { readConfig } from '../../src/config.ts'
import { openDatabase } from '../../src/postgres/database.ts'
import { eventually } from '../races/pair.ts'
import { make, expiresAt } from '../support/client.ts'
import { openWebProcess } from '../support/web-process.ts'
import { expectError } from './responses.ts'
import { forFile } from '../support/service.ts'

const { web, env, ada } = await forFile(openWebProcess({ LOG_REQUESTS: 'on' }))
const nobody = ada.as()

/** The lines that the process logged about requests, once it has logged one that says `last`. */
async function logged(last: string): Promise<Record<string, unknown>[]> {
  await eventually(`the log says ${last}`, () => web.output.some((line) => line.includes(last)))
  return web.output.filter((line) => line.includes('"requestId"')).map((line) => JSON.parse(line))
}

test('the log has one line for a request: who, what, where, how long', async () => {
  const { id } = await make(ada, '/projects', { name: 'P' })
  const made = await make(ada, '/tokens', { name: 'T', scopes: ['read'], expiresAt })
  const { id: tokenId, token } = made as typeof made & { token: string }
  const answers = [
    await ada.get(`/projects/${id}?`),
    await ada.post('/tasks', { title: 'T', projectId: id }),
    await ada.patch('/projects/none', { name: 'Q' }),
    await ada.as(token).get('/projects/none'),
    await nobody.get('/auth/me'),
  ]
  const ids = answers.map(({ headers }) => headers.get('x-request-id'))
  const lines = await logged(ids[4]!)
  const found = ids.map((id) => lines.filter(({ requestId }) => requestId === id))
  expect(found.map((one) => one.length)).toEqual([1, 1, 1, 1, 1])
  const common = { level: 30, time: expect.any(String), msg: 'answered', ms: expect.any(Number) }
  const line = (n: number, rest: object) =>
    expect(found[n]![0] as object).toEqual({ ...common, requestId: ids[n], ...rest })
  const projects = '/api/v1/projects/:id'
  line(0, { userId: ada.id, projectId: id, method: 'GET', route: projects, status: 200 })
  line(1, { userId: ada.id, projectId: id, method: 'POST', route: '/api/v1/tasks', status: 201 })
  line(2, { userId: ada.id, projectId: 'none', method: 'PATCH', route: projects, status: 404 })
  line(3, { userId: ada.id, tokenId, projectId: 'none', method: 'GET', route: projects, status: 404 })
  line(4, { method: 'GET', route: '/api/v1/auth/me', status: 401 })
  expect(JSON.stringify(lines)).not.toContain(token)
})

test('the log names the trace that a request says to be of, and nothing that is none', async () => {
  const trace = '0af7651916cd43dd8448eb211c80319c'
  const sent = [`00-${trace}-b7ad6b7169203331-01`, `00-${trace}-b7ad6b7169203331`]
  const ids: string[] = []
  for (const traceparent of sent)
    ids.push((await ada.get('/auth/me', { traceparent })).headers.get('x-request-id')!)
  const lines = await logged(`"${ids[1]}"`)
  const told = ids.map((id) => lines.find(({ requestId }) => requestId === id)?.trace_id)
  expect(told).toEqual([trace, undefined])
})

test('the log and errors hold no secret, token, password or what was sent', async () => {
  const secrets = ['hunter2-hunter2', 'hunter3-hunter3', 'the words of a comment']
  const [first, second, words] = secrets as [string, string, string]
  const email = 'careful@example.com'
  const { sql, close } = open()
  const told: string[] = []
  const say = async (answer: Promise<{ text: string; status: number; body: { access_token?: string } }>) => {
    const { text, status, body } = await answer
    if (status >= 400) told.push(text)
    return body
  }
  const registered = await say(nobody.post('/auth/register', { name: 'C', email, password: first }))
  const careful = nobody.as(registered.access_token)
  await say(nobody.post('/auth/register', { name: 'C', email, password: first }))
  await say(nobody.post('/auth/login', { email, password: second }))
  await say(nobody.post('/auth/register', { name: 7, email: first, password: { first } }))
  await say(careful.patch('/auth/me', { password: second, currentPassword: second }))
  await say(careful.as(`${careful.token}x`).get('/auth/me'))
  await say(careful.get(`/tasks?cursor=${careful.token}`))
  await say(careful.post('/projects', `{"name": ${first}`))
  await sql`alter table projects rename to hidden`
  await say(careful.get('/projects', { 'x-secret': first }))
  await sql`alter table hidden rename to projects`
  await sql`alter table users add constraint odd check (name <> ${sql.unsafe(`'${words}'`)})`
  await say(careful.patch('/auth/me', { name: words }))
  await close()
  expect(told).toHaveLength(9)
  await logged('"status":500')
  const { DATABASE_URL, JWT_SECRET } = env
  secrets.push(careful.token!, careful.token!.split('.')[2]!, JWT_SECRET!, new URL(DATABASE_URL!).password)
  const all = [...told, ...web.output].join('\n')
  for (const secret of secrets) expect([secret, all.includes(secret)]).toEqual([secret, false])
  for (const inside of ['postgres', 'select', 'hidden', '/src/', 'constraint'])
    expect([inside, told.join('\n').toLowerCase().includes(inside)]).toEqual([inside, false])
})

test('the log has one line for a request that failed by our doing', async () => {
  const { sql, close } = open()
  await sql`alter table projects rename to hidden`
  const answer = await ada.get('/projects')
  await sql`alter table hidden rename to projects`
  await close()
  expectError(answer, 500, 'An unexpected error occurred in the service')
  const id = answer.headers.get('x-request-id')
  await ada.get('/auth/me')
  const lines = (await logged(id!)).filter(({ requestId }) => requestId === id)
  expect(lines).toHaveLength(1)
  expect(lines[0]).toMatchObject({ level: 50, userId: ada.id, method: 'GET', route: '/api/v1/projects' })
  expect(lines[0]).toMatchObject({ status: 500, error: { code: '42P01' } })
})

function open() {
  const database = openDatabase(readConfig(env))
  return { sql: database.reads, close: () => database.close() }
}
