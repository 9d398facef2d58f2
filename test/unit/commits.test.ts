import { setTimeout as sleep } from 'node:timers/promises'
import postgres from 'postgres'
import type { TaskRow } from '../../drizzle/rows.ts'
import { createTask } from '../../modules/tasks/commands.ts'
import { Actors } from '../../src/actor/actors.ts'
import type { QueuedCommand } from '../../src/actor/decide-group.ts'
import type { ProjectState } from '../../src/actor/state.ts'
import { transact, type TransactDependencies } from '../../src/actor/transact.ts'
import { decide } from '../../src/commands/decide.ts'
import { openCommit, type Outcome } from '../../src/commit/commit.ts'
import type { CommitUnit } from '../../src/commit/unit.ts'
import type { Decision, StoredEvent } from '../../src/model/events.ts'
import type { Leases } from '../../src/lock/leases.ts'
import { newCommitCounts } from '../../src/metrics/counts.ts'
import { eventFields, eventRows } from '../../src/postgres/columns.ts'
import { connectionError, markUnknownOutcome } from '../../src/postgres/errors.ts'
import { outcomeUnknown } from '../../src/responses/errors.ts'
import {
  errorCode,
  eventually,
  faultsOf,
  forFile,
  holdTransaction,
  make,
  makeProjects,
  newId,
} from '../kit.ts'
import { expectError, openScene, openTestService, type Sql, upTo } from '../kit.ts'
import { openProject } from './memory-project.ts'
import { type Context, queuedCommand } from '../support/queued-command.ts'

const { service, ada, sql } = await openScene(['Ada'], {})
const { actors, config, database } = service.services
const other: postgres.Sql = await forFile(postgres(service.env.DATABASE_URL!, { max: 4, onnotice: () => {} }))
afterEach(async () => expect(await faultsOf(sql)).toEqual([]))

/** A group commit whose statements and lock timeouts are counted. */
function openCounted() {
  const found = { statements: 0, lockTimeouts: 0 }
  const unsafe: Sql['unsafe'] = (...args) => {
    found.statements++
    const query = database.commits.unsafe(...args)
    query.catch((error: unknown) => void (errorCode(error) === '55P03' && found.lockTimeouts++))
    return query as never
  }
  const pools = { commits: { unsafe } as Sql, commitsApart: { unsafe } as Sql }
  const counts = newCommitCounts()
  return { found, counts, commit: openCommit(pools, config, counts) }
}

/** A unit that changes the title of a task. */
async function changeOf(taskId: string, title = 'New'): Promise<CommitUnit> {
  const [last] = await sql<[StoredEvent]>`
    select ${eventFields(sql)}, ${eventRows(sql)} from events e
    where entity_id = ${taskId} order by id desc limit 1`
  const { projectId } = last
  const [head] = await sql<[{ version: number; lastNumber: number; lastEventId: string }]>`
    select version::float8 as version, last_number, last_event_id from streams where project_id = ${projectId}`
  const id = newId()
  const version = head.version + 1
  const row = last.after as TaskRow
  const before = { title: row.title, eventId: row.eventId }
  const after = { ...row, title, eventId: id }
  const event = { ...last, id, type: 'task.updated', seq: version, before, after }
  const expected = { expected: head.version, expectedEventId: head.lastEventId }
  const heads = [{ projectId, ...expected, version, lastNumber: head.lastNumber, lastEventId: id }]
  const events = [event as unknown as StoredEvent]
  return { heads, events, jobs: [], records: [], deadline: Infinity, isSent: false }
}

const makeTasks = async (count: number) =>
  Promise.all(
    (await makeProjects(ada, count)).map((projectId) => make(ada, '/tasks', { projectId, title: 'Old' })),
  )

// A locked project is skipped. After a lock timeout for another row, each unit is committed by its own statement.
test.each([
  ['projects', 20, 'streams', 2, 4],
  ['tasks', 1, 'tasks', 32, 34],
])(
  'locked %s (%d of 30) write nothing, and delay the commits of other projects once',
  async (_, count, table, first, second) => {
    const tasks = await makeTasks(30)
    const { commit, found } = openCounted()
    const ids = tasks.slice(0, count).map(({ projectId }) => projectId)
    const release = await holdTransaction(
      other,
      (tx) => tx`select from ${tx(table)} where project_id = any(${ids}::uuid[]) for update`,
    )
    const commitAll = async (title: string) => {
      const units = await Promise.all(tasks.map(({ id }) => changeOf(id, title)))
      const outcomes = await Promise.all(units.map(commit))
      return outcomes.map((outcome, n) => [String(outcome), units[n]!.isSent])
    }
    const expected = tasks.map((__, n) => (n < count ? ['conflict', false] : ['committed', true]))
    expect(await commitAll('New')).toEqual(expected)
    expect(found.statements).toBe(first)
    expect(await commitAll('Newer')).toEqual(expected)
    // One statement for the locked projects, one for the others.
    expect(found.statements).toBe(second)
    await release()
    for (const title of ['Newest', 'Last'])
      expect(await commitAll(title)).toEqual(tasks.map(() => ['committed', true]))
    expect(found.statements).toBe(second + 3)
  },
)

test('a write loads no rows of the tasks that block the changed tasks', async () => {
  const [projectId] = await makeProjects(ada, 1)
  const description = 'long '.repeat(2_000)
  const open = await make(ada, '/tasks', { projectId, title: 'Open', description })
  const task = await make(ada, '/tasks', { projectId, title: 'Blocked', blockedByIds: [open.id] })
  const cold = await forFile(openTestService(service.env))
  const change = { op: 'task.update', id: task.id, title: 'Still blocked' }
  const claim = { op: 'task.claim_next', leaseSeconds: 60, priority: 'HIGH' }
  const send = (operations: object[]) =>
    cold.client.as(ada.token).post(`/projects/${projectId}/batch`, { operations })
  expect((await send([change])).status).toBe(200)
  expect(cold.services.actors.stateOf(projectId!)!.bytes).toBeLessThan(10_000)
  // The row of the blocker is not loaded, so the task may be blocked.
  expectError(await send([{ ...change, priority: 'HIGH' }, claim]), 409, 'operations[1]: No task is ready')
  // The facts that the claim needed are gone.
  expect(cold.services.actors.stateOf(projectId!)!.facts.size).toBe(0)
})

// A state has at most an eighth of the memory, and all states together have at most the whole.
test('a process whose states are too large keeps them without their tasks', async () => {
  const limit = 200_000
  const small = await forFile(openTestService({ ...service.env, ACTOR_CACHE_BYTES: String(limit) }))
  const caller = small.client.as(ada.token)
  const { actors, counts } = small.services
  const projectIds = await makeProjects(caller, 11)
  const bytesOf = (id: string) => actors.stateOf(id)?.bytes ?? 0
  const fill = async (projectId: string, n: number) => {
    const operations = upTo(n === 0 ? 50 : 30).map(() => ({ op: 'task.create', title: 'T' }))
    const { status, body } = await caller.post(`/projects/${projectId}/batch`, { operations })
    expect(status).toBe(200)
    return (body as unknown as { results: { id: string }[] }).results[0]!
  }
  const tasks = await Promise.all(projectIds.map(fill))
  expect(bytesOf(projectIds[0]!)).toBeLessThan(limit / 8)
  await eventually('small states', () => projectIds.map(bytesOf).reduce((a, b) => a + b) <= limit)
  const { misses } = counts.caches.states
  await Promise.all(projectIds.map((projectId) => make(caller, '/tasks', { projectId, title: 'Last' })))
  expect(counts.caches.states.misses).toBe(misses)
  const patch = ({ id }: { id: string }) => caller.patch(`/tasks/${id}`, { description: 'Known again' })
  for (const { body } of await Promise.all(tasks.map(patch))) expect(body).toMatchObject({ title: 'T' })
  // The ids of deleted rows count too.
  for (const _ of upTo(3)) {
    const created = upTo(100).map((n) => ({ op: 'task.create', title: 'T', as: `t${n}` }))
    const operations = [...created, ...upTo(100).map((n) => ({ op: 'task.delete', id: `#t${n}` }))]
    expect((await caller.post(`/projects/${projectIds[0]}/batch`, { operations })).status).toBe(200)
  }
  expect(bytesOf(projectIds[0]!)).toBeLessThan(limit / 8)
})

const newRecord = (key = newId()) => ({ scope: 's', key, fingerprint: '', status: 200, body: '', etag: null })
const insertRecord = (by: postgres.ISql, { scope, key }: { scope: string; key: string }) =>
  by`insert into idempotency_keys (scope, key, fingerprint, status, body) values (${scope}, ${key}, '', 200, '')`

test.each<[string, (n: number) => string | undefined, outcomes: string, statements: number]>([
  ['are recorded already', (n) => (n === 0 || n === 7 ? `recorded ${n}` : undefined), '-++++++-++', 1],
  // The first statement fails. The second one has no key twice.
  ['are the same', (n) => (n % 3 ? undefined : 'shared'), '+++-++-++-', 2],
])(
  'units whose keys %s write nothing, and all others are committed together',
  async (_, keyOf, outcomes, statements) => {
    const { commit, found } = openCounted()
    const units = await Promise.all((await makeTasks(10)).map(({ id }) => changeOf(id)))
    for (const [n, { records }] of units.entries()) records.push(newRecord(keyOf(n)))
    for (const { records } of units)
      if (records[0]!.key.startsWith('recorded'))
        await insertRecord(sql as unknown as postgres.ISql, records[0]!)
    const committed = (await Promise.all(units.map(commit))).map((one) => (one === 'committed' ? '+' : '-'))
    expect([committed.join(''), found.statements]).toEqual([outcomes, statements])
  },
)

test.each(['off', 'on'] as const)(
  'a lock that no row has delays only the project that needs it, with the pooler %s',
  async (databasePooler) => {
    const tasks = await makeTasks(3)
    const counts = newCommitCounts()
    // The connections of `other` have no lock timeout.
    const commits = (databasePooler === 'off' ? database.commits : other) as Sql
    const commit = openCommit({ commits, commitsApart: commits }, { ...config, databasePooler }, counts)
    const units = await Promise.all(tasks.map(({ id }) => changeOf(id)))
    units[1]!.records.push(newRecord())
    const release = await holdTransaction(other, (tx) => insertRecord(tx, units[1]!.records[0]!))
    expect(await Promise.all(units.map(commit))).toEqual(['committed', 'conflict', 'committed'])
    expect(counts.units).toEqual({ won: 2, lost: 1, unknown: 0, refused: 0 })
    await release()
    expect(await commit(await changeOf(tasks[1]!.id))).toBe('committed')
  },
)

test('a commit without an answer has an unknown outcome', async () => {
  const error = connectionError('CONNECTION_CLOSED', 'gone')
  markUnknownOutcome(error, true)
  const [task] = await makeTasks(1)
  for (const unsafe of [() => Promise.reject(error), () => new Promise(() => {})]) {
    const pools = { commits: { unsafe }, commitsApart: { unsafe } } as never
    const counts = newCommitCounts()
    const commit = openCommit(pools, { ...config, writeTimeoutMs: 50 }, counts)
    expect(await commit(await changeOf(task!.id))).toBe('unknown')
    expect(counts.units).toMatchObject({ lost: 0, unknown: 1 })
  }
})

const short = await openScene(['Alan'], { WRITE_TIMEOUT_MS: '1500' })

test('a write that meets a lock until its deadline gets 503 "Nothing was written", and is never stored', async () => {
  const { alan } = short
  const projectId = (await makeProjects(alan, 1))[0]!
  const { id } = await make(alan, '/tasks', { projectId, title: 'Old' })
  const locking = await forFile(postgres(short.service.env.DATABASE_URL!, { max: 1 }))
  const release = await holdTransaction(locking, (tx) => tx`select from tasks where id = ${id} for update`)
  const late = [
    alan.patch(`/tasks/${id}`, { title: 'New' }),
    alan.patch(`/tasks/${id}`, { title: 'New' }, { 'idempotency-key': newId() }),
    alan.post(`/projects/${projectId}/batch`, { operations: [{ op: 'task.update', id, title: 'New' }] }),
  ]
  const message = 'The write timed out. Nothing was written'
  for (const { status, body, headers } of await Promise.all(late))
    expect([status, body.message, headers.get('retry-after')]).toEqual([503, message, '1'])
  await release()
  const { status, body } = await alan.patch(`/tasks/${id}`, { priority: 'HIGH' })
  expect([status, body.title]).toEqual([200, 'Old'])
  expect(await faultsOf(short.sql)).toEqual([])
})

type Decide = (state: ProjectState, context: Context) => Decision<TaskRow>

const creating =
  (title: string): Decide =>
  (state, context) => {
    const limits = { projectMembers: 1, projectWebhooks: 100 }
    return decide(createTask, state, { ...context, limits }, { projectId: state.projectId, title })
  }

const failing: Record<string, Decide> = {
  // No real rule returns such a row.
  'a missing value': (...given) => {
    const { changes, answer } = creating('Invalid')(...given)
    return { changes: [{ ...changes[0]!, after: { ...answer, title: null } as never }], answer }
  },
  'a defect in its rule': () => {
    throw new TypeError('a defect')
  },
  'a second change that cannot be applied': (state, context) => {
    const { changes, answer } = creating('Half')(state, context)
    const second = { ...changes[0]!, id: context.newId(), entity: 'nothing' as 'task' }
    return { changes: [...changes, second], answer }
  },
}

test.each(Object.keys(failing))('a command with %s fails alone, and writes nothing', async (what) => {
  const [hit, ...others] = (await makeProjects(ada, 3)) as [string, ...string[]]
  const run = (projectId: string, decide: Decide) =>
    actors.run(queuedCommand<TaskRow>(ada.id, { projectId, decide }))
  const runFive = (id: string) => upTo(5).map((n) => run(id, creating(`T ${n}`)))
  const before = runFive(hit)
  const failed = run(hit, failing[what]!).catch((error: Error) => error)
  const all = [...before, ...runFive(hit)]
  const elsewhere = others.flatMap(runFive)
  expect(await failed).toBeInstanceOf(Error)
  expect((await Promise.all(all)).map(({ number }) => number)).toEqual(upTo(10))
  expect(await Promise.all(elsewhere)).toHaveLength(10)
  expect((await ada.get(`/tasks?projectId=${hit}`)).body).toHaveLength(10)
})

test('a command whose commit had no answer has an unknown outcome at its deadline, although later attempts write nothing', async () => {
  const { id: projectId, state } = openProject()
  const outcomes: Outcome[] = ['unknown']
  const by = {
    ...{ findCommitted: async () => new Map(), findRecord: async () => undefined, react: () => [] },
    loader: { state: async () => state.fork(), rows: async () => {} },
    commit: async () => outcomes.shift() ?? 'conflict',
  } as unknown as TransactDependencies
  const { promise, resolve } = Promise.withResolvers<unknown>()
  const given = { projectId, decide: creating('T'), deadline: performance.now() + 300 }
  const command = queuedCommand<TaskRow>('editor', { ...given, resolve, reject: resolve }) as QueuedCommand
  await transact(by, [{ projectId, state: null }], [command])
  expect(await promise).toMatchObject({ status: 503, message: outcomeUnknown().message })
})

/** Actors of two projects in memory, whose commits end only at the call of `endCommit`. */
function openSlowActors() {
  const [first, second] = [openProject(), openProject()]
  const committed: CommitUnit[] = []
  const found = { endCommit() {} }
  const commit = (unit: CommitUnit) => {
    committed.push(unit)
    return new Promise<Outcome>((resolve) => (found.endCommit = () => resolve('committed')))
  }
  const by = {
    ...{ findCommitted: async () => new Map(), findRecord: async () => undefined, react: () => [] },
    loader: {
      state: async (id: string) => (id === first.id ? first : second).state.fork(),
      rows: async () => {},
    },
    ...{ commit, onCommitted() {} },
  } as unknown as TransactDependencies
  const leases = { holds: () => true, markIdle() {}, close: async () => {} } as unknown as Leases
  const actors = new Actors(by, leases, config)
  const run = (projectId: string, given: object = {}) =>
    actors.run(queuedCommand<TaskRow>('editor', { projectId, decide: creating('T'), ...given }))
  return { first: first.id, second: second.id, committed, found, actors, run }
}

const timedOut = { status: 503, message: 'The write timed out. Nothing was written' }

test('a command gets 503 at its deadline while its actor waits for a commit', async () => {
  const { first, found, actors, run } = openSlowActors()
  const busy = run(first)
  const late = run(first, { deadline: performance.now() + 10 })
  expect(await late.catch((error: unknown) => error)).toMatchObject(timedOut)
  found.endCommit()
  await busy
  await actors.close(0)
})

test('a move that timed out before its second project was free is never committed', async () => {
  const { first, second, committed, found, actors, run } = openSlowActors()
  const move = { destinationId: second, preload: { movingTaskId: newId() }, authorize() {} }
  // A timer may fire almost a millisecond before the deadline.
  for (const n of upTo(20)) {
    const busy = run(second)
    const late = run(first, { ...move, deadline: performance.now() + 10 + n / 20 })
    expect(await late.catch((error: unknown) => error)).toMatchObject(timedOut)
    found.endCommit()
    await busy
    await sleep(5)
    expect([n, committed.map(({ heads }) => heads.length)]).toEqual([n, upTo(n).map(() => 1)])
  }
  await actors.close(0)
})
