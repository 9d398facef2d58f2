import postgres from 'postgres'
import type { TaskRow } from '../../drizzle/rows.ts'
import { openCommit } from '../../src/commit/commit.ts'
import type { CommitUnit } from '../../src/commit/unit.ts'
import { errorCode, faultsOf, forFile, holdTransaction, invite, make, makeProjects, newId } from '../kit.ts'
import { openScene, statuses, upTo } from '../kit.ts'
import type { Sql } from '../kit.ts'
import type { StoredEvent } from '../../src/model/events.ts'
import { eventFields, eventRows } from '../../src/postgres/columns.ts'

const { service, ada, grace, sql } = await openScene(['Ada', 'Grace'])
const { config, database } = service.services
const other: postgres.Sql = await forFile(postgres(service.env.DATABASE_URL!, { max: 4, onnotice: () => {} }))

/** A group commit whose lock timeouts are counted. */
function openCounted() {
  const found = { statements: 0, lockTimeouts: 0 }
  const unsafe: Sql['unsafe'] = (...args) => {
    found.statements++
    const query = database.commits.unsafe(...args)
    query.catch((error: unknown) => void (errorCode(error) === '55P03' && found.lockTimeouts++))
    return query as never
  }
  return {
    found,
    commit: openCommit({ commits: { unsafe } as Sql, commitsApart: { unsafe } as Sql }, config),
  }
}

/** A unit that changes the title of a task. */
async function changeOf(taskId: string, title: string): Promise<CommitUnit> {
  const [last] = await sql<StoredEvent[]>`
    select ${eventFields(sql)}, ${eventRows(sql)} from events e
    where entity_id = ${taskId} order by id desc limit 1`
  const [head] = await sql<{ version: number; lastNumber: number; lastEventId: string }[]>`
    select version::float8 as version, last_number, last_event_id from streams where project_id = ${last!.projectId}`
  const { version, lastNumber, lastEventId } = head!
  const { projectId } = last!
  const id = newId()
  const row = last!.after as TaskRow
  const [before, after] = [
    { title: row.title, eventId: row.eventId },
    { ...row, title, eventId: id },
  ]
  const event = {
    ...last!,
    id,
    type: 'task.updated',
    seq: version + 1,
    before,
    after,
  } as unknown as StoredEvent
  const counted = { expected: version, expectedEventId: lastEventId, version: version + 1, lastNumber }
  const heads = [{ projectId, ...counted, lastEventId: id }]
  return { heads, events: [event], jobs: [], records: [], deadline: Infinity, isSent: false }
}

const makeTasks = async (count: number) =>
  Promise.all(
    (await makeProjects(ada, count)).map((projectId) => make(ada, '/tasks', { projectId, title: 'Old' })),
  )

test.each([
  ['projects', 1, 'streams', 'project_id'],
  ['projects', 20, 'streams', 'project_id'],
  ['tasks', 1, 'tasks', 'project_id'],
  ['tasks', 6, 'tasks', 'project_id'],
])(
  'locked %s (%d of 30) write nothing, all others are committed, and later commits do not meet the locks',
  async (_, count, table, column) => {
    const tasks = await makeTasks(30)
    const { commit, found } = openCounted()
    const ids = tasks.slice(0, count).map(({ projectId }) => projectId)
    const release = await holdTransaction(
      other,
      (tx) => tx`select from ${tx(table)} where ${tx(column)} = any(${ids}::uuid[]) for update`,
    )
    const commitAll = async (title: string) => {
      const units = await Promise.all(tasks.map(({ id }) => changeOf(id, title)))
      const outcomes = await Promise.all(units.map(commit))
      return { outcomes, sent: units.map(({ isSent }) => isSent) }
    }
    const expected = tasks.map((__, n) => (n < count ? 'conflict' : 'committed'))
    const sent = expected.map((outcome) => outcome === 'committed')
    expect(await commitAll('New')).toEqual({ outcomes: expected, sent })
    // The statement without locks fails once; then one statement commits the others.
    expect(found).toEqual({ statements: 2, lockTimeouts: 1 })
    expect(await commitAll('Newer')).toEqual({ outcomes: expected, sent })
    // One statement for the locked projects, one for the others.
    expect(found).toEqual({ statements: 4, lockTimeouts: 1 })
    await release()
    expect((await commitAll('Newest')).outcomes).toEqual(tasks.map(() => 'committed'))
    expect((await commitAll('Last')).outcomes).toEqual(tasks.map(() => 'committed'))
    expect(found).toEqual({ statements: 7, lockTimeouts: 1 })
    expect(await faultsOf(sql)).toEqual([])
  },
)

const newRecord = (key = newId()) => ({ scope: 's', key, fingerprint: '', status: 200, body: '', etag: null })

test('units whose keys are recorded write nothing, and the same statement commits all others', async () => {
  const tasks = await makeTasks(10)
  const { commit, found } = openCounted()
  const units = await Promise.all(tasks.map(({ id }) => changeOf(id, 'New')))
  for (const unit of units) unit.records.push(newRecord())
  for (const { scope, key } of [units[0]!.records[0]!, units[7]!.records[0]!])
    await sql`insert into idempotency_keys (scope, key, fingerprint, status, body) values (${scope}, ${key}, '', 200, '')`
  const outcomes = await Promise.all(units.map(commit))
  expect(outcomes).toEqual(tasks.map((_, n) => (n === 0 || n === 7 ? 'conflict' : 'committed')))
  expect(found.statements).toBe(1)
  expect(await faultsOf(sql)).toEqual([])
})

test('of the units that record the same key at once, one is committed, together with all others', async () => {
  const tasks = await makeTasks(10)
  const { commit, found } = openCounted()
  const units = await Promise.all(tasks.map(({ id }) => changeOf(id, 'New')))
  for (const [n, unit] of units.entries()) unit.records.push(newRecord(n % 3 ? undefined : 'shared'))
  const outcomes = await Promise.all(units.map(commit))
  expect(outcomes).toEqual(tasks.map((_, n) => (n > 0 && n % 3 === 0 ? 'conflict' : 'committed')))
  // The first statement fails. The second one has no key twice.
  expect(found.statements).toBe(2)
  expect(await faultsOf(sql)).toEqual([])
})

test('a lock that no row has delays only the project that needs it', async () => {
  const tasks = await makeTasks(3)
  const { commit } = openCounted()
  const units = await Promise.all(tasks.map(({ id }) => changeOf(id, 'New')))
  const record = newRecord()
  units[1]!.records.push(record)
  const release = await holdTransaction(
    other,
    (tx) => tx`insert into idempotency_keys (scope, key, fingerprint, status, body)
      values (${record.scope}, ${record.key}, '', 200, '')`,
  )
  expect(await Promise.all(units.map(commit))).toEqual(['committed', 'conflict', 'committed'])
  await release()
  expect(await commit(await changeOf(tasks[1]!.id, 'New'))).toBe('committed')
  expect(await faultsOf(sql)).toEqual([])
})

test('writes to a locked project wait for the lock, and are committed in their order', async () => {
  const [locked, free] = (await makeProjects(ada, 2)) as [string, string]
  const member = await invite(ada, locked, grace)
  const task = await make(ada, '/tasks', { projectId: locked, title: 'Claimed' })
  const release = await holdTransaction(other, async (tx) => {
    await tx`select from members where id = ${member.id} for update`
    await tx`select from tasks where id = ${task.id} for update`
  })
  const waiting = [
    ada.post(`/tasks/${task.id}/claim`, { leaseSeconds: 60 }),
    ada.patch(`/projects/${locked}/members/${member.id}/role`, { role: 'VIEWER' }),
    ...upTo(5).map((n) => ada.post('/tasks', { projectId: locked, title: `Waits ${n}` })),
  ]
  const others = upTo(20).map((n) => ada.post('/tasks', { projectId: free, title: `Passes ${n}` }))
  expect(statuses(await Promise.all(others))).toEqual({ 201: 20 })
  await release()
  expect(statuses(await Promise.all(waiting))).toEqual({ 200: 2, 201: 5 })
  expect(await faultsOf(sql)).toEqual([])
})

const short = await openScene(['Alan'], { WRITE_TIMEOUT_MS: '1500' })

test.each([
  ['its project', 'streams', 'project_id'],
  ['its task', 'tasks', 'project_id'],
])(
  'a write that meets a lock of %s until its deadline gets 503 "Nothing was written", and is never stored',
  async (_, table, column) => {
    const { alan } = short
    const projectId = (await makeProjects(alan, 1))[0]!
    const { id } = await make(alan, '/tasks', { projectId, title: 'Old' })
    const sql = await forFile(postgres(short.service.env.DATABASE_URL!, { max: 1 }))
    const release = await holdTransaction(
      sql,
      (tx) => tx`select from ${tx(table)} where ${tx(column)} = ${projectId} for update`,
    )
    const operations = [{ op: 'task.update', id, title: 'New' }]
    const late = [
      alan.patch(`/tasks/${id}`, { title: 'New' }),
      alan.patch(`/tasks/${id}`, { title: 'New' }, { 'idempotency-key': newId() }),
      alan.post(`/projects/${projectId}/batch`, { operations }),
    ]
    for (const { status, body, headers } of await Promise.all(late))
      expect([status, body.message, headers.get('retry-after')]).toEqual([
        503,
        'The write timed out. Nothing was written',
        '1',
      ])
    await release()
    const { status, body } = await alan.patch(`/tasks/${id}`, { priority: 'HIGH' })
    expect([status, body.title]).toEqual([200, 'Old'])
    expect(await faultsOf(short.sql)).toEqual([])
  },
)
