import { createFullProject, eventually, faultsOf, forFile, make, newId, nilId, openLog } from '../kit.ts'
import { openTeam, openTestService, upTo, words } from '../kit.ts'
import { createRows, readCalls, send } from '../http/operations.ts'
import { commands } from '../../modules/commands.ts'
import type { Command, CommandRequest, RoutedCommand } from '../../src/commands/command.ts'
import type { Execute } from '../../src/commands/execute.ts'
import type { Reply } from '../../src/responses/reply.ts'
import { openRowLocations } from '../../src/commands/row-locations.ts'
import { openRun } from '../../src/commands/router.ts'
import { tailOf } from '../../src/ids.ts'
import { createCommand, executeOf, openServing, registry, routedCreate } from './local-execution.ts'

let sent: { command: Command; routed: RoutedCommand }
const { service, client, sql, people, owner: ada, stranger: bea, guest } = await openTeam(['Guest'], {})
const warnings: string[] = []
const log = Object.assign(openLog('silent'), { warn: (_: object, text: string) => warnings.push(text) })
const here = executeOf(service.services, { log })
/** Executes commands in another process on the same database. */
const elsewhere = executeOf((await forFile(openTestService(service.env))).services)
const route: Execute = (command, routed, deadline) => {
  sent = { command, routed }
  return here(command, routed, deadline)
}
const runCommand = openRun({ registry, rowLocations: openRowLocations(sql), route, timeoutMs: 15_000 })
const requestOf = (name: string, input: object, { id: userId } = ada) => ({ name, input, caller: { userId } })
const run = (...request: Parameters<typeof requestOf>) => runCommand(requestOf(...request))
const errorOf = (answer: Promise<Reply>) => answer.catch((error: unknown) => error)
const again = (execute = elsewhere) => execute(sent.command, { ...sent.routed, again: true })
const eventsNow = async () => (await sql`select 1 from events`).length
const newProject = async () => (await make(ada, '/projects', { name: 'P' })).id
const lastSeq = async (id: string) => Number((await ada.get(`/projects/${id}`)).headers.get('docket-version'))

/** The order of the keys in a stored JSON object is not kept. */
const storedParts = ({ status, body, etag }: Reply) => ({ status, body: JSON.parse(body), etag })
const repeated = new Set<string>()

/** Runs a command and sends it again to both processes. Each copy must get the same reply and write no event. */
async function runRepeatedly(request: CommandRequest): Promise<Reply> {
  const reply = await runCommand(request)
  const { command, routed } = sent
  const events = await eventsNow()
  const retried: RoutedCommand = { ...structuredClone(routed), again: true }
  const retries = [await here(command, retried)]
  // The first copy may arrive late, at another process.
  for (const late of [routed, retried]) retries.push(await elsewhere(command, late))
  const { name } = command
  expect([name, ...retries.map(storedParts)]).toEqual([name, ...retries.map(() => storedParts(reply))])
  expect(await eventsNow()).toBe(events)
  repeated.add(name)
  return reply
}
const repeating = await forFile(openTestService(service.env))
repeating.services.run = runRepeatedly

/** These calls wait for a worker, run no command, or change nothing. The end of the test deletes a project. */
const others = words('createImport cancelImport undoImport testWebhook releaseTask deleteProject')

/** Returns the commands that only workers run, and the release of a claim, each with a change to make. */
async function inputsOfWorkers(): Promise<[name: string, input: object][]> {
  const { projectId, taskId: id, memberId, webhookId } = await createFullProject(people, guest)
  await ada.post(`/tasks/${id}/claim`, { leaseSeconds: 60 })
  await ada.patch(`/tasks/${id}`, { assigneeId: guest.id })
  await ada.delete(`/projects/${projectId}/members/${memberId}`)
  const { id: blocker } = await make(ada, '/tasks', { projectId, title: 'Blocker' })
  await ada.patch(`/tasks/${id}`, { blockedByIds: [blocker] })
  let remindAt = ''
  const future = (ms: number) => new Date(Date.now() + ms).toISOString()
  // After a pause of the process, the time has passed, so a later time is sent.
  await eventually('the update of the reminder', async () => {
    remindAt = future(1_500)
    return (await ada.patch(`/tasks/${id}`, { remindAt })).status === 200
  })
  await ada.patch(`/tasks/${blocker}`, { status: 'DONE' })
  await eventually('the time of the reminder', () => future(-50) > remindAt)
  const imported = { op: 'task', id: newId(), externalId: 'csv:1', title: 'Imported' }
  return [
    ['task.record_times', { projectId, ids: [id] }],
    ['task.release', { id }],
    ['task.record_ready', { projectId, tasks: [{ id, eventId: nilId }] }],
    ['task.unassign', { projectId, userId: guest.id, ids: [id] }],
    ['project.import', { projectId, operations: [imported] }],
    ['webhook.disable', { projectId, webhookId, revision: 1, reason: 'Gone' }],
  ]
}

test('every command is committed once, and each retry gets the same reply in every process', async () => {
  const { calls } = await readCalls(client)
  for (const call of calls)
    if (call.role && call.method !== 'GET' && !others.includes(call.id)) {
      const by = repeating.client.as(people[call.role].token)
      const { status } = await send(by, call, await createRows(people, guest, sql, call))
      expect([call.id, Math.floor(status / 100)]).toEqual([call.id, 2])
    }
  for (const [name, input] of await inputsOfWorkers()) await runRepeatedly(requestOf(name, input))
  const { body } = await runRepeatedly(requestOf('project.create', { name: 'New' }))
  await runRepeatedly(requestOf('project.delete', { id: JSON.parse(body).id }))
  expect([...repeated].sort()).toEqual(commands.map(({ name }) => name).sort())
  expect(await faultsOf(sql)).toEqual([])
})

test('a retry of a change shows the blockers that the task had then, and that still exist', async () => {
  const projectId = await newProject()
  const write = async (name: string, input: object) => JSON.parse((await run(name, input)).body)
  const one = await write('task.create', { projectId, title: 'One' })
  const two = await write('task.create', { projectId, title: 'Two' })
  const { id } = await write('task.create', { projectId, title: 'T', blockedByIds: [one.id, two.id] })
  await write('task.update', { id, title: 'U' })
  const { command, routed } = sent
  await write('task.update', { id, blockedByIds: [] })
  await write('task.delete', { id: one.id })
  for (const execute of [here, elsewhere]) {
    const { body } = await execute(command, { ...routed, again: true })
    expect(JSON.parse(body)).toMatchObject({ title: 'U', blockedByIds: [two.id] })
  }
})

test('finds a committed command that a thousand later events follow', async () => {
  const projectId = await newProject()
  const first = await run('task.create', { projectId, title: 'First' })
  const retry = { ...sent }
  const operations = upTo(500).map((n) => ({ op: 'task.create', title: `Later ${n}` }))
  for (const _ of upTo(2))
    expect((await ada.post(`/projects/${projectId}/batch`, { operations })).status).toBe(200)
  const events = await eventsNow()
  expect(await elsewhere(retry.command, { ...retry.routed, again: true })).toEqual(first)
  expect(await eventsNow()).toBe(events)
})

test('a retry that would be rejected or change nothing gets 503 while the first copy may still be committed', async () => {
  const projectId = await newProject()
  await errorOf(run('task.create', { projectId, title: 'T' }, bea))
  const { command, routed } = sent
  expect(await errorOf(again())).toMatchObject({ status: 503 })
  await make(ada, `/projects/${projectId}/members/invite`, { email: bea.email, role: 'EDITOR' })
  // The first copy waited in the mailbox of a frozen process. The rejected command is decided again when it is retried.
  const first = await here(command, routed)
  expect(first.status).toBe(201)
  expect(await again()).toEqual(first)

  await run('project.update', { id: projectId, name: 'P' })
  expect(await errorOf(again())).toMatchObject({ status: 503 })
  const keyed = { ...sent.routed, guard: { scope: ada.id, key: 'kept', fingerprint: '' } }
  expect(await elsewhere(sent.command, { ...keyed, again: true })).toMatchObject({ status: 200 })
  const renaming = sent.command
  await run('project.update', { id: projectId, name: 'Otherwise' })
  expect(await here(renaming, keyed)).toMatchObject({ status: 200, replayed: true })
  expect((await ada.get(`/projects/${projectId}`)).body.name).toBe('Otherwise')
})

test('if a retry arrives while the first copy runs, and the command changes nothing, both copies get 503', async () => {
  const id = await newProject()
  const serveCommand = openServing(here)
  const serveTwice = () => {
    const routed = { ...sent.routed, id: newId() }
    return Promise.all([serveCommand({ ...routed }), serveCommand({ ...routed, again: true })])
  }
  const unchanged = () => run('project.update', { id, name: 'P' })
  const rejected = () => errorOf(run('task.create', { projectId: id, title: 'T' }, bea))
  for (const send of [unchanged, rejected]) {
    await send()
    expect(await serveTwice()).toMatchObject([{ status: 503 }, { status: 503 }])
  }
  await run('task.create', { projectId: id, title: 'T' })
  const answers = await serveTwice()
  expect(answers).toMatchObject([{ kind: 'reply', status: 201 }, answers[0]!])
})

const yearMs = 365 * 86_400_000

const idAt = (ms: number) => {
  const time = ms.toString(16).padStart(12, '0')
  return `${time.slice(0, 8)}-${time.slice(8)}-7000${tailOf(newId())}`
}

/** Changes a project's log as if a process whose clock was a year ahead had written this many more events. */
async function poison(id: string, events: number): Promise<void> {
  await sql`update events set id = ${idAt(Date.now() + yearMs)}::uuid, at = now() + interval '1 year' where project_id = ${id}`
  await sql`insert into events (project_id, seq, id, type, entity, entity_id, actor_id, at, before, after)
    select e.project_id, e.seq + n, (left(e.id::text, 8) || '-' || lpad(to_hex(n), 4, '0') || substr(e.id::text, 14, 6)
      || right(gen_random_uuid()::text, 17))::uuid, 'project.updated', 'project', e.project_id,
      e.actor_id, e.at, e.after, e.after from events e, generate_series(1, ${events}::int4) n where e.project_id = ${id}`
  await sql`update streams s set version = e.seq, last_event_id = e.id from
    (select seq, id from events where project_id = ${id} order by seq desc limit 1) e where s.project_id = ${id}`
  await sql`update projects p set event_id = s.last_event_id from streams s where s.project_id = p.id and p.id = ${id}`
}

test("rejects a command whose id is five seconds ahead of the database's clock, with a warning", async () => {
  const id = await newProject()
  const create = (ms: number) => here(createCommand, routedCreate(id, ada.id, { id: idAt(Date.now() + ms) }))
  for (const ms of [60_000, yearMs]) expect(await errorOf(create(ms))).toMatchObject({ status: 503 })
  expect(warnings).toEqual([expect.stringContaining('clock')])
  expect(await lastSeq(id)).toBe(1)
  expect(await create(2_000)).toMatchObject({ status: 201 })
})

test('after events from the future, each command has the correct time and is committed once', async () => {
  const id = await newProject()
  await poison(id, 100_000)
  // The part of the log that a retry searches may not contain its first copy.
  const uncertain = routedCreate(id, ada.id, { again: true })
  expect(await errorOf(here(createCommand, uncertain))).toMatchObject({ status: 503 })
  const first = routedCreate(id, ada.id)
  const answer = await here(createCommand, first)
  expect(answer).toMatchObject({ status: 201 })
  expect(Math.abs(Date.parse(JSON.parse(answer.body).createdAt) - Date.now())).toBeLessThan(60_000)
  for (const copy of [first, { ...first, again: true as const }])
    expect(await elsewhere(createCommand, copy)).toEqual(answer)
  expect(await lastSeq(id)).toBe(100_002)
})
