import postgres from 'postgres'
import { expiresAt, faultsOf, forFile, holdTransaction, make, makeProjects, newId } from '../kit.ts'
import { openClient } from '../kit.ts'
import type { Answer } from '../kit.ts'
import { openBehindProxy } from './behind-proxy.ts'

// The service cannot learn what became of a statement that the proxy holds.
const { proxy, sql, ada, web, databaseUrl } = await openBehindProxy({
  WRITE_TIMEOUT_MS: '1500',
  COMMIT_TIMEOUT_MS: '3000',
  BACKGROUND_TIMEOUT_MS: '1500',
})
const [project, target] = (await makeProjects(ada, 2)) as [string, string]

let marks = 0
const nextMark = () => `marked-${++marks}`

async function whileHeld(mark: string, send: () => Promise<Answer>) {
  const commit = proxy.hold(mark)
  const answer = send()
  await commit.held
  return { answer: await answer, commit }
}

const unknown =
  'The outcome of the write is unknown: repeat the write with the same Idempotency-Key; without a key, read first whether it was written'
const outcomeOf = ({ status, body, headers }: Answer) => [status, body.message, headers.get('retry-after')]

const task = await make(ada, '/tasks', { projectId: project, title: 'Moves' })
const writes: [string, (mark: string, key: Record<string, string>) => Promise<Answer>][] = [
  ['a create', (title, key) => ada.post('/tasks', { projectId: project, title }, key)],
  ['a change', (title, key) => ada.patch(`/tasks/${task.id}`, { title }, key)],
  ['a move', (title, key) => ada.patch(`/tasks/${task.id}`, { title, projectId: target }, key)],
  [
    'a batch',
    (title, key) =>
      ada.post(`/projects/${project}/batch`, { operations: [{ op: 'task.create', title }] }, key),
  ],
  ['a new project', (name, key) => ada.post('/projects', { name }, key)],
]

test.each(writes)('%s whose commit was sent before the deadline has an unknown outcome', async (_, write) => {
  const mark = nextMark()
  // The proxy holds the first request that contains the mark, so the key must not contain it.
  const key = { 'idempotency-key': newId() }
  const { answer, commit } = await whileHeld(mark, () => write(mark, key))
  expect(outcomeOf(answer)).toEqual([503, unknown, '1'])
  await commit.deliver()
  const repeated = await write(mark, key)
  expect(repeated.headers.get('idempotency-replayed')).toBe('true')
  const events = await sql`select from events where after::text like ${`%${mark}%`} and before is null`
  expect(events.length).toBeLessThanOrEqual(1)
  expect(await faultsOf(sql)).toEqual([])
})

const accountWrites: [string, (mark: string) => Promise<Answer>][] = [
  [
    'a registration',
    (name) =>
      openClient(web.url).post('/auth/register', {
        name,
        email: `${name}@example.com`,
        password: 'secret-1',
      }),
  ],
  ['a new token', (name) => ada.post('/tokens', { name, scopes: ['read'], expiresAt })],
]

test.each(accountWrites)(
  '%s whose statement and its retry got no answer has an unknown outcome',
  async (_, write) => {
    const mark = nextMark()
    const first = proxy.hold(mark)
    const answer = write(mark)
    await first.held
    const retry = proxy.hold(mark)
    await retry.held
    expect(outcomeOf(await answer)).toEqual([503, unknown, '1'])
  },
)

test('a registration that Postgres cancelled while it waited for a lock is not written, and not repeated', async () => {
  const mark = nextMark()
  const email = `${mark}@example.com`
  const other = await forFile(postgres(databaseUrl, { max: 1 }))
  const release = await holdTransaction(
    other,
    (tx) =>
      tx`insert into users (id, name, email, password_hash, created_at) values (${newId()}, 'First', ${email}, '', now())`,
  )
  const answer = await openClient(web.url).post('/auth/register', { name: mark, email, password: 'secret-1' })
  expect(outcomeOf(answer)).toEqual([
    503,
    'The database took too long for a statement. Nothing was written',
    '1',
  ])
  await release()
  expect(await sql`select from users where name = ${mark}`).toHaveLength(0)
})
