import {
  eventually,
  faultsOf,
  forFile,
  make,
  newId,
  nilId,
  openLog,
  openScene,
  openTestService,
} from '../kit.ts'
import { unreachableUrl, upTo } from '../kit.ts'
import { commands } from '../../modules/commands.ts'
import type { Command } from '../../src/commands/command.ts'
import type { RoutedCommand } from '../../src/commands/request.ts'
import type { Execute } from '../../src/commands/execute.ts'
import type { Reply } from '../../src/responses/reply.ts'
import { openRowLocations } from '../../src/commands/row-locations.ts'
import { openRun } from '../../src/commands/router.ts'
import { tailOf } from '../../src/ids.ts'
import { createCommand, executeOf, openServing, registry, routedCreate } from './local-execution.ts'

let sent: { command: Command; routed: RoutedCommand }
const { service, sql, ada, bea, guest } = await openScene(['Ada', 'Bea', 'Guest'], {})
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
const run = (name: string, input: object, { id: userId } = ada) =>
  runCommand({ name, input, caller: { userId } })
const errorOf = (answer: Promise<Reply>) => answer.catch((error: unknown) => error)
const again = (execute = elsewhere) => execute(sent.command, { ...sent.routed, again: true })
const eventsNow = async () => (await sql`select 1 from events`).length
const newProject = async () => (await make(ada, '/projects', { name: 'P' })).id

const storedParts = ({ status, body, etag }: Reply) => ({ status, body, etag })

async function runTwice(name: string, input: object): Promise<{ id: string }> {
  const answer = await run(name, input)
  const { command, routed } = sent
  const events = await eventsNow()
  const retried: RoutedCommand = { ...structuredClone(routed), again: true }
  const retries = [await here(command, retried)]
  // The first copy may arrive late, at another process.
  for (const late of [routed, retried]) retries.push(await elsewhere(command, late))
  expect([name, ...retries.map(storedParts)]).toEqual([name, ...retries.map(() => storedParts(answer))])
  expect(await eventsNow()).toBe(events)
  return JSON.parse(answer.body)
}

type Ids = Record<string, string>
type Step = [name: string, input: (ids: Ids) => object, as?: string]
const day = 86_400_000
const at = (ms: number) => new Date(Date.now() + ms).toISOString()
const ofHook = ({ p, hook }: Ids) => ({ projectId: p, webhookId: hook })
const newToken = () => ({
  name: 'CI',
  scopes: ['read'],
  projects: null,
  createdAt: at(0),
  expiresAt: at(day),
})
const lastSeq = async (id: string) => Number((await ada.get(`/projects/${id}`)).headers.get('docket-version'))

/** A command of each kind. The id of its row is stored under the third value. */
const steps: Step[] = [
  ['project.create', () => ({ name: 'First' }), 'p'],
  ['project.create', () => ({ name: 'Second' }), 'other'],
  ['project.batch', ({ p }) => ({ id: p, operations: operationsOf(p!) })],
  ['project.update', ({ p }) => ({ id: p, name: 'Renamed' })],
  ['project.undo', async ({ p }) => ({ id: p, seqs: [await lastSeq(p!)] })],
  ['member.invite', ({ p }) => ({ projectId: p, email: bea.email, role: 'VIEWER' }), 'member'],
  ['member.set_role', ({ p, member }) => ({ projectId: p, memberId: member, role: 'EDITOR' })],
  ['serviceAccount.create', ({ p }) => ({ projectId: p, name: 'Robot' }), 'robot'],
  ['webhook.create', ({ p }) => ({ projectId: p, url: unreachableUrl, ...hookFields }), 'hook'],
  ['webhook.update', (ids) => ({ ...ofHook(ids), maxEvents: 7 })],
  ['webhook.rotate', (ids) => ({ ...ofHook(ids), secret: 'another' })],
  ['webhook.replay', (ids) => ({ ...ofHook(ids), after: 1 })],
  ['webhook.disable', (ids) => ({ ...ofHook(ids), reason: 'Gone' })],
  ['webhook.delete', ofHook],
  ['token.create', ({ p, robot, token }) => ({ projectId: p, accountId: robot, made: sealed(token!) })],
  ['token.delete', ({ p, robot, token }) => ({ projectId: p, accountId: robot, tokenId: token })],
  ['label.create', ({ p }) => ({ projectId: p, name: 'bug' }), 'label'],
  ['label.update', ({ label }) => ({ id: label, name: 'fault' })],
  ['field.create', ({ p }) => ({ projectId: p, key: 'size', name: 'Size', type: 'number' }), 'field'],
  ['field.update', ({ field }) => ({ id: field, name: 'Length' })],
  ['view.create', ({ p, label }) => ({ projectId: p, name: 'Faults', query: { labels: label } }), 'view'],
  ['view.update', ({ view }) => ({ id: view, name: 'Bugs' })],
  ['view.delete', ({ view }) => ({ id: view })],
  ['task.upsert', ({ p }) => ({ projectId: p, externalId: 'A', title: 'Blocker' }), 'blocker'],
  ['task.upsert', (ids) => ({ projectId: ids.p, externalId: 'B', title: 'T', ...taskFields(ids) }), 'task'],
  ['task.upsert', ({ p }) => ({ projectId: p, externalId: 'B', title: 'U' })],
  ['task.claim', ({ task }) => ({ id: task, leaseSeconds: 60 })],
  ['task.release', ({ task }) => ({ id: task })],
  ['task.claim_next', ({ p }) => ({ projectId: p, leaseSeconds: 60 })],
  ['task.record_times', whenReminded],
  ['task.append', ({ task }) => ({ id: task, field: 'description', text: 'More' })],
  ['task.create', ({ p, blocker }) => ({ projectId: p, title: 'W', blockedByIds: [blocker] }), 'waiting'],
  ['task.update', ({ blocker }) => ({ id: blocker, status: 'DONE' })],
  ['task.record_ready', ({ p, waiting }) => ({ projectId: p, tasks: [{ id: waiting, eventId: nilId }] })],
  ['field.delete', ({ field }) => ({ id: field })],
  ['label.delete', ({ label }) => ({ id: label })],
  ['task.update', ({ task }) => ({ id: task, title: 'V' })],
  ['serviceAccount.delete', ({ p, robot }) => ({ projectId: p, accountId: robot })],
  ['task.create', ({ p }) => ({ projectId: p, title: 'One', assigneeId: bea.id }), 'task'],
  ['subtask.create', ({ task }) => ({ taskId: task, title: 'Step' }), 'subtask'],
  ['subtask.update', ({ subtask }) => ({ id: subtask, title: 'Other step' })],
  ['subtask.toggle', ({ subtask }) => ({ id: subtask })],
  ['comment.create', ({ task }) => ({ taskId: task, text: 'Said' }), 'comment'],
  ['comment.update', ({ comment }) => ({ id: comment, text: 'Said better' })],
  ['member.remove', ({ p, member }) => ({ projectId: p, memberId: member })],
  ['task.unassign', ({ p, task }) => ({ projectId: p, userId: bea.id, ids: [task] })],
  ['task.update', ({ task, other }) => ({ id: task, projectId: other, title: 'Moved' })],
  ['comment.delete', ({ comment }) => ({ id: comment })],
  ['project.import', ({ p }) => ({ projectId: p, operations: [imported] })],
  ['subtask.delete', ({ subtask }) => ({ id: subtask })],
  ['task.delete', ({ task }) => ({ id: task })],
  ['project.create', () => ({ name: 'Spare' }), 'spare'],
  ['project.delete', ({ spare }) => ({ id: spare })],
]

const hookFields = { types: null, maxEvents: 100, enabled: true, secret: 'sealed' }
const imported = { op: 'task', id: newId(), externalId: 'csv:1', title: 'Imported' }
const sealed = (id: string) => ({ id, ...newToken(), digest: newId(), sealed: 'sealed' })
const taskFields = ({ label, blocker }: Ids) => {
  return { labelIds: [label], fields: { size: 3 }, blockedByIds: [blocker] }
}
const operationsOf = (id: string) => [
  { op: 'task.create', as: 'one', title: 'One' },
  { op: 'subtask.create', taskId: '#one', title: 'Step' },
  { op: 'project.update', id, name: 'First' },
  { op: 'member.invite', projectId: id, email: guest.email, as: 'guest' },
  { op: 'member.remove', projectId: id, memberId: '#guest' },
]

async function whenReminded({ p, task }: Ids): Promise<object> {
  let remindAt = ''
  // After a pause of the process, the time has passed, so a later time is sent.
  await eventually('the update of the reminder', async () => {
    remindAt = at(1_500)
    return (await ada.patch(`/tasks/${task}`, { remindAt })).status === 200
  })
  await eventually('the time of the reminder', () => at(-50) > remindAt)
  return { projectId: p, ids: [task] }
}

test('every command is committed once, and each retry gets the same reply in every process', async () => {
  const ids: Ids = { token: newId() }
  for (const [name, inputOf, as = ''] of steps) ids[as] = (await runTwice(name, await inputOf(ids)))?.id
  expect([...new Set(steps.map(([name]) => name))].sort()).toEqual(commands.map(({ name }) => name).sort())
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

test('does not start a command after its deadline', async () => {
  const command = routedCreate(await newProject(), ada.id)
  const events = await eventsNow()
  expect(await errorOf(here(createCommand, command, performance.now() - 1))).toMatchObject({ status: 503 })
  expect(await eventsNow()).toBe(events)
})

const yearMs = 365 * day

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
  await poison(id, 8_000)
  // The part of the log that a retry searches may not contain its first copy.
  const uncertain = routedCreate(id, ada.id, { again: true })
  expect(await errorOf(here(createCommand, uncertain))).toMatchObject({ status: 503 })
  const first = routedCreate(id, ada.id)
  const answer = await here(createCommand, first)
  expect(answer).toMatchObject({ status: 201 })
  expect(Math.abs(Date.parse(JSON.parse(answer.body).createdAt) - Date.now())).toBeLessThan(60_000)
  for (const copy of [first, { ...first, again: true as const }])
    expect(await elsewhere(createCommand, copy)).toEqual(answer)
  expect(await lastSeq(id)).toBe(8_002)
})
