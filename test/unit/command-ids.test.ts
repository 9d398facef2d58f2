import { type Body, faultsOf, make, newId, openLog, openScene } from '../kit.ts'
import type { RoutedCommand } from '../../src/commands/request.ts'
import { tailOf } from '../../src/ids.ts'
import { createCommand as command, executeElsewhere, executeOf, lookUpOf } from './local-execution.ts'
import { registry, routedCreate } from './local-execution.ts'
import type { Command } from '../../src/commands/command.ts'
import type { Execute } from '../../src/commands/execute.ts'
import { openRowLocations } from '../../src/commands/row-locations.ts'
import { openRun } from '../../src/commands/router.ts'

const yearMs = 365 * 86_400_000
let project: Body
const warnings: string[] = []
const { service, sql, ada } = await openScene(['Ada'])
const log = Object.assign(openLog('silent'), { warn: (_: object, text: string) => warnings.push(text) })
const execute = executeOf(service.services, { log })
const elsewhere = await executeElsewhere(service.env)

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

describe('Ids ahead of the clock', () => {
  beforeEach(async () => void (project = await make(ada, '/projects', { name: 'Timely' })))
  // Its log would be a fault for the checks of the other tests.
  afterEach(async () => void (await sql`delete from projects where id = ${project.id}`))

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
})

const taken = 'This id is already used; send a new UUIDv7'
let task: Body
let other: Body

/** Starts a command up to its look-up, which finds that the id is free. The returned function executes the command. */
async function send(name: string, input: object): Promise<() => ReturnType<Execute>> {
  const { reads } = service.services.database
  const sent = Promise.withResolvers<[Command, RoutedCommand]>()
  const run = openRun({
    registry,
    rowLocations: openRowLocations(reads),
    route: (command, routed) => {
      sent.resolve([command, routed])
      return Promise.withResolvers<never>().promise
    },
    timeoutMs: 15_000,
  })
  void run({ name, input, caller: { userId: ada.id } })
  const [command, routed] = await sent.promise
  const lookedUp = await lookUpOf(service.services)(command, routed)
  const execute = executeOf(service.services, { lookUp: async () => lookedUp })
  return () => execute(command, routed)
}

const creates: Record<string, (id: string) => [name: string, input: object]> = {
  project: (id) => ['project.create', { id, name: 'Own' }],
  task: (id) => ['task.create', { id, projectId: other.id, title: 'Own' }],
  subtask: (id) => ['subtask.create', { id, taskId: task.id, title: 'Own' }],
  comment: (id) => ['comment.create', { id, taskId: task.id, text: 'Own' }],
  batch: (id) => {
    return ['project.batch', { id: other.id, operations: [{ op: 'task.create', id, title: 'Own' }] }]
  },
}
const status = (answer: Promise<{ status: number }>) => answer.catch((error: { status: number }) => error)

describe('Ids that clients choose', () => {
  beforeEach(async () => {
    project = await make(ada, '/projects', { name: 'First' })
    other = await make(ada, '/projects', { name: 'Second' })
    task = await make(ada, '/tasks', { title: 'Parent', projectId: other.id })
  })

  for (const [what, createOf] of Object.entries(creates))
    test(`a ${what} gets 409 if another project uses its new id before the commit, even if that project has deleted its task`, async () => {
      for (const isDeleted of [true, false]) {
        const id = newId()
        const create = await send(...createOf(id))
        await make(ada, '/tasks', { id, title: 'Sooner', projectId: project.id })
        if (isDeleted) expect((await ada.delete(`/tasks/${id}`)).status).toBe(200)
        const message = expect.stringContaining(taken)
        expect(await status(create())).toMatchObject({ status: 409, message })
        if (!isDeleted) expect((await ada.get(`/tasks/${id}`)).body.title).toBe('Sooner')
      }
      expect(await faultsOf(sql)).toEqual([])
    })

  test('only one of several concurrent creates with the same id succeeds, and the other commands in the same commit succeed', async () => {
    const id = newId()
    const kinds = Object.values(creates).filter((_, n) => n !== 4)
    const sent = await Promise.all(kinds.map((createOf) => send(...createOf(id))))
    const others = Promise.all(
      kinds.map((_, n) => make(ada, '/tasks', { title: `T ${n}`, projectId: project.id })),
    )
    const answers = await Promise.all(sent.map((create) => status(create())))
    expect(answers.map(({ status }) => status).sort()).toEqual([201, 409, 409, 409])
    expect(await others).toHaveLength(4)
    expect(await faultsOf(sql)).toEqual([])
  })

  test('the id of a rejected create can be used again', async () => {
    const id = newId()
    const late = await send('task.create', { id, projectId: other.id, title: 'Own' })
    const rejected = await ada.post('/tasks', {
      id,
      title: 'Own',
      projectId: project.id,
      assigneeId: newId(),
    })
    expect(rejected.status).toBe(400)
    expect(await late()).toMatchObject({ status: 201 })
  })
})
