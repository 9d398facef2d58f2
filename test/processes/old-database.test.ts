import { expectError, expectUndone, faultsOf, forFile, freshDatabase, isReplay, make } from '../kit.ts'
import { openTestService } from '../kit.ts'
import postgres from 'postgres'
import { applyMissing, knownMigrations, migrate } from '../../drizzle/migrate.ts'
import { untilOutboxEmpty } from '../workers/remains.ts'
import release from './old-database.json' with { type: 'json' }

// The rows and the responses of the release of commit 240b63a2, whose last migration is the baseline.
const { facts, responses } = release
const rows = release.rows as Record<string, object[]>
const { projectId, taskId, webhookId } = facts

const database = await forFile(freshDatabase('template1'))
const sql = postgres(database.url, { max: 1, onnotice: () => {} })
await applyMissing(sql, knownMigrations().slice(0, 25))
for (const [table, some] of Object.entries(rows))
  await sql`insert into ${sql(table)} select * from jsonb_populate_recordset(null::${sql(table)}, ${JSON.stringify(some)}::text::jsonb)`
await sql`update idempotency_keys set created_at = now()`
await sql.end()
await migrate(database.url)
const service = await forFile(openTestService({ DATABASE_URL: database.url }))
const { client } = service
const credentials = { email: 'ada@example.com', password: 'secret-1' }
const ada = client.as((await client.post('/auth/login', credentials)).body.access_token)

/** Without values that change with time: claims end. */
const withoutTimes = (body: unknown): unknown =>
  JSON.parse(JSON.stringify(body), (key, value) =>
    key === 'claim' || key === 'lastUsedAt' ? null : (value as unknown),
  )

test.each(Object.entries(responses))(
  'a migrated database: GET %s has the fields and values of before',
  async (path, before) => {
    const { status, body } = await ada.get(path)
    expect([status, withoutTimes(body)]).toMatchObject([200, withoutTimes(before)] as never)
  },
)

test('a migrated database: tokens, a stored reply, a webhook and an undo of an earlier event still work', async () => {
  for (const token of facts.tokens) expect((await client.as(token).get(`/tasks/${taskId}`)).status).toBe(200)
  const repeated = await ada.post('/tasks', { projectId, title: 'Keyed' }, { 'idempotency-key': 'kept' })
  expect([isReplay(repeated), repeated.body.id]).toEqual([true, facts.replayed.id])
  expect((await ada.post(`/projects/${projectId}/webhooks/${webhookId}/test`)).status).toBe(200)
  const { changes } = expectUndone(await ada.post(`/projects/${projectId}/undo`, { seq: facts.deletion }))
  expect(changes.map(({ type }) => type)).toEqual(['task.created', 'subtask.created', 'comment.created'])
  expectError(await client.post('/auth/login', { ...credentials, password: 'secret-2' }), 401)
})

test('a migrated database: workers, a search and new writes work, and the log is without faults', async () => {
  service.startWorkers()
  const { id } = await make(ada, '/tasks', {
    projectId,
    title: 'Drawn anew',
    place: 'first',
    externalId: 'A-2',
  })
  const { body } = await ada.get(`/search?q=draw&projectId=${projectId}&types=task`)
  expect(body.map((hit) => hit.taskId).sort()).toEqual([taskId, id].sort())
  await ada.patch(`/tasks/${taskId}`, { fields: { size: 'small' }, status: 'DONE' })
  expect((await ada.delete(`/tasks/${id}`)).status).toBe(200)
  await untilOutboxEmpty(service.services.database.background)
  expect(await faultsOf(service.services.database.background)).toEqual([])
})
