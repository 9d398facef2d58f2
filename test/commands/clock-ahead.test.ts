import { openFindCommitted } from '../../src/actor/find-committed.ts'
import { mayBeCommitted } from '../../src/actor/decide-group.ts'
import { State } from '../../src/actor/state.ts'
import type { QueuedCommand } from '../../src/actor/queued-command.ts'
import { type Body, make, newId, openLog, openScene, type Sql } from '../kit.ts'
import type { RoutedCommand } from '../../src/commands/request.ts'
import { tailOf } from '../../src/ids.ts'
import { createCommand as command, executeElsewhere, executeOf, routedCreate } from './local-execution.ts'

const yearMs = 365 * 86_400_000
let project: Body
const warnings: string[] = []
const { service, sql, ada } = await openScene(['Ada'])
const log = Object.assign(openLog('silent'), { warn: (_: object, text: string) => warnings.push(text) })
const execute = executeOf(service.services, { log })
const elsewhere = await executeElsewhere(service.env)
beforeEach(async () => void (project = await make(ada, '/projects', { name: 'Timely' })))

const idAt = (ms: number) => {
  const time = ms.toString(16).padStart(12, '0')
  return `${time.slice(0, 8)}-${time.slice(8)}-7000${tailOf(newId())}`
}
const create = (id = newId()) => routedCreate(project.id, ada.id, { id })
const eventCount = async () => (await sql`select from events where project_id = ${project.id}`).length

/** Changes a project's log as if a process whose clock was a year ahead had written this many more events. */
async function poison(events: number): Promise<void> {
  const id = project.id
  await sql`update events set id = ${idAt(Date.now() + yearMs)}::uuid, at = now() + interval '1 year' where project_id = ${id}`
  await sql`insert into events (project_id, seq, id, type, entity, entity_id, actor_id, at, before, after)
    select e.project_id, e.seq + n, (left(e.id::text, 8) || '-' || lpad(to_hex(n), 4, '0') || substr(e.id::text, 14, 6) || right(gen_random_uuid()::text, 17))::uuid, 'project.updated', 'project', e.project_id,
      e.actor_id, e.at, e.after, e.after from events e, generate_series(1, ${events}::int4) n where e.project_id = ${id}`
  await sql`update streams s set version = e.seq, last_event_id = e.id from
    (select project_id, seq, id from events where project_id = ${id} order by seq desc limit 1) e where s.project_id = e.project_id`
  await sql`update projects p set event_id = s.last_event_id from streams s where s.project_id = p.id and p.id = ${id}`
}

test("rejects a command whose id is ahead of the database's clock, logs a warning, and changes nothing", async () => {
  for (const ms of [60_000, yearMs]) {
    const rejected = execute(command, create(idAt(Date.now() + ms)))
    expect(await rejected.catch((error) => error)).toMatchObject({ status: 503 })
  }
  expect(warnings).toEqual([expect.stringContaining('clock')])
  expect(await eventCount()).toBe(1)
  expect(await execute(command, create())).toMatchObject({ status: 201 })
})

test('commits a command whose id is less than five seconds ahead', async () => {
  const ahead = create(idAt(Date.now() + 2_000))
  const answer = await execute(command, ahead)
  expect(answer).toMatchObject({ status: 201 })
  expect(await elsewhere(command, ahead)).toEqual(answer)
  expect(await eventCount()).toBe(2)
})

test('in a log with events from the future, the search for a command stops after five pages', async () => {
  await poison(8_000)
  let queries = 0
  const counted = ((...args: Parameters<typeof ask>) => (queries++, ask(...args))) as unknown as Sql
  const ask = sql as unknown as (strings: TemplateStringsArray, ...values: unknown[]) => unknown
  const id = newId()
  const found = await openFindCommitted(Object.assign(counted, sql))(project.id, 8_001, [id])
  expect(found.get(id)).toBeNull()
  expect(queries).toBe(5)
})

test('after events from the future, new events have the correct time, and each command is committed once', async () => {
  await poison(8_000)
  const first = create()
  const answer = await execute(command, first)
  expect(answer).toMatchObject({ status: 201 })
  const [row] = await sql<{ age: number }[]>`
    select extract(epoch from now() - created_at)::float8 as age from tasks where project_id = ${project.id}`
  expect(Math.abs(row!.age)).toBeLessThan(60)
  expect(await elsewhere(command, first)).toEqual(answer)
  expect(await elsewhere(command, { ...first, again: true })).toEqual(answer)
  expect(await eventCount()).toBe(8_002)
})

test('rejects a retried command with 503 if the rest of the log, which was not searched, may contain the command', async () => {
  await poison(8_000)
  const again: RoutedCommand = { ...create(), again: true }
  expect(await execute(command, again).catch((error) => error)).toMatchObject({
    status: 503,
  })
  expect(await eventCount()).toBe(8_001)
})

test('does not search the log for a command that was created after the project was loaded', () => {
  const loadedLongAgo = (ms: number) => {
    const state = new State(project.id, 1, 0, idAt(Date.now() + ms))
    return Object.assign(state, { loaded: { ...state.loaded, at: performance.now() - 20_000 } })
  }
  const isSearched = (state: State, command = create()) =>
    mayBeCommitted([state], command as unknown as QueuedCommand)
  expect(isSearched(loadedLongAgo(yearMs))).toBe(false)
  expect(isSearched(loadedLongAgo(yearMs), { ...create(), again: true })).toBe(true)
  expect(isSearched(loadedLongAgo(yearMs), create(idAt(Date.now() - 30_000)))).toBe(true)
  // The command was created before the database's clock was set back.
  expect(isSearched(loadedLongAgo(yearMs), create(idAt(Date.now() + 3_600_000)))).toBe(true)
  expect(isSearched(new State(project.id, 1, 0, idAt(Date.now() + yearMs)))).toBe(true)
})
