import { eventually, faultsOf, newId, nilId, openScene, unreachableUrl, upTo } from '../kit.ts'
import { commands } from '../../modules/commands.ts'
import type { Command } from '../../src/commands/command.ts'
import type { RoutedCommand } from '../../src/commands/request.ts'
import type { Execute } from '../../src/commands/execute.ts'
import type { Reply } from '../../src/responses/reply.ts'
import { openRowLocations } from '../../src/commands/row-locations.ts'
import { openRun } from '../../src/commands/router.ts'
import { executeElsewhere, executeOf, openServing, registry } from './local-execution.ts'

type RunCommand = (name: string, input: object) => Promise<{ id: string }>

async function runIntegrationCommands(run: RunCommand, projectId: string, accountId: string): Promise<void> {
  const hook = { types: null, maxEvents: 100, enabled: true, secret: 'sealed' }
  const { id: webhookId } = await run('webhook.create', { projectId, url: unreachableUrl, ...hook })
  const ofWebhook = { projectId, webhookId }
  await run('webhook.update', { ...ofWebhook, maxEvents: 7 })
  await run('webhook.rotate', { ...ofWebhook, secret: 'another' })
  await run('webhook.replay', { ...ofWebhook, after: 1 })
  await run('webhook.disable', { ...ofWebhook, reason: 'Gone' })
  await run('webhook.delete', ofWebhook)
  const [createdAt, expiresAt] = [0, 1].map((days) => new Date(Date.now() + days * 86_400_000).toISOString())
  const token = { id: newId(), name: 'CI', scopes: ['read'], projects: null, createdAt, expiresAt }
  const ofAccount = { projectId, accountId }
  await run('token.create', { ...ofAccount, made: { ...token, digest: newId(), sealed: 'sealed' } })
  await run('token.delete', { ...ofAccount, tokenId: token.id })
}

function rethrowUnless400(error: { status?: number }): false {
  if (error.status === 400) return false
  throw error
}

/** Runs the commands of labels, fields, views, external ids, claims and reminders. */
async function runTaskCommands(run: RunCommand, projectId: string): Promise<void> {
  const label = await run('label.create', { projectId, name: 'bug' })
  await run('label.update', { id: label.id, name: 'fault' })
  const field = await run('field.create', { projectId, key: 'size', name: 'Size', type: 'number' })
  await run('field.update', { id: field.id, name: 'Length' })
  const view = await run('view.create', { projectId, name: 'Faults', query: { labels: label.id } })
  await run('view.update', { id: view.id, name: 'Bugs' })
  await run('view.delete', { id: view.id })
  const blocker = await run('task.upsert', { projectId, externalId: 'A', title: 'Blocker' })
  const fields = { labelIds: [label.id], fields: { size: 3 }, blockedByIds: [blocker.id] }
  const task = await run('task.upsert', { projectId, externalId: 'B', title: 'T', ...fields })
  await run('task.upsert', { projectId, externalId: 'B', title: 'U' })
  await run('task.claim', { id: task.id, leaseSeconds: 60 })
  await run('task.release', { id: task.id })
  await run('task.claim_next', { projectId, leaseSeconds: 60 })
  let remindAt = ''
  // The reminder must come due in the test. After a pause of the process, the time has passed, so a later time is sent.
  await eventually('the update of the reminder', () => {
    remindAt = new Date(Date.now() + 2_000).toISOString()
    return run('task.update', { id: task.id, remindAt }).then(() => true, rethrowUnless400)
  })
  await eventually('the time of the reminder', () => new Date().toISOString() > remindAt)
  await run('task.record_times', { projectId, ids: [task.id] })
  await run('task.append', { id: task.id, field: 'description', text: 'More' })
  const waiting = await run('task.create', { projectId, title: 'W', blockedByIds: [blocker.id] })
  await run('task.update', { id: blocker.id, status: 'DONE' })
  await run('task.record_ready', { projectId, tasks: [{ id: waiting.id, eventId: nilId }] })
  await run('field.delete', { id: field.id })
  await run('label.delete', { id: label.id })
  await run('task.update', { id: task.id, title: 'V' })
}

let sent: { command: Command; routed: RoutedCommand }
const { service, sql, ada, bea, guest } = await openScene(['Ada', 'Bea', 'Guest'])
const here = executeOf(service.services)
const elsewhere = await executeElsewhere(service.env)
const route: Execute = (command, routed, deadline) => {
  sent = { command, routed }
  return here(command, routed, deadline)
}
const rowLocations = openRowLocations(sql)
const run = openRun({ registry, rowLocations, route, timeoutMs: 15_000 })

const storedParts = ({ status, body, etag }: Reply) => ({ status, body, etag })
const eventsNow = async () => (await sql`select 1 from events`).length

async function runTwice(name: string, input: object): Promise<{ id: string }> {
  const answer = await run({ name, input, caller: { userId: ada.id } })
  const { command, routed } = sent
  const events = await eventsNow()
  const again: RoutedCommand = { ...structuredClone(routed), again: true }
  const retries = [await here(command, again)]
  // The first copy may arrive late, at another process.
  for (const late of [routed, again]) retries.push(await elsewhere(command, late))
  expect(retries.map(storedParts)).toEqual(retries.map(() => storedParts(answer)))
  expect(await eventsNow()).toBe(events)
  return JSON.parse(answer.body)
}

test('every command is committed once, and each retry gets the same reply in every process', async () => {
  const done = new Set<string>()
  const runAndRecord = (name: string, input: object) => {
    done.add(name)
    return runTwice(name, input)
  }
  const { id: projectId } = await runAndRecord('project.create', { name: 'First' })
  const { id: otherId } = await runAndRecord('project.create', { name: 'Second' })
  const operations = [
    { op: 'task.create', as: 'one', title: 'One' },
    { op: 'subtask.create', taskId: '#one', title: 'Step' },
    { op: 'project.update', id: projectId, name: 'First' },
    { op: 'member.invite', projectId, email: guest.email, as: 'guest' },
    { op: 'member.remove', projectId, memberId: '#guest' },
  ]
  await runAndRecord('project.batch', { id: projectId, operations })
  await runAndRecord('project.update', { id: projectId, name: 'Renamed' })
  const [{ seq }] = await sql<[{ seq: number }]>`
    select max(seq)::float8 as seq from events where project_id = ${projectId}`
  await runAndRecord('project.undo', { id: projectId, seqs: [seq] })
  const member = await runAndRecord('member.invite', { projectId, email: bea.email, role: 'VIEWER' })
  await runAndRecord('member.set_role', { projectId, memberId: member.id, role: 'EDITOR' })
  const robot = await runAndRecord('serviceAccount.create', { projectId, name: 'Robot' })
  await runIntegrationCommands(runAndRecord, projectId, robot.id)
  await runTaskCommands(runAndRecord, projectId)
  await runAndRecord('serviceAccount.delete', { projectId, accountId: robot.id })
  const task = await runAndRecord('task.create', { projectId, title: 'One', assigneeId: bea.id })
  await runAndRecord('task.update', { id: task.id, title: 'Two' })
  const subtask = await runAndRecord('subtask.create', { taskId: task.id, title: 'Step' })
  await runAndRecord('subtask.update', { id: subtask.id, title: 'Other step' })
  await runAndRecord('subtask.toggle', { id: subtask.id })
  const comment = await runAndRecord('comment.create', { taskId: task.id, text: 'Said' })
  await runAndRecord('comment.update', { id: comment.id, text: 'Said better' })
  await runAndRecord('member.remove', { projectId, memberId: member.id })
  await runAndRecord('task.unassign', { projectId, userId: bea.id, ids: [task.id] })
  await runAndRecord('task.update', { id: task.id, projectId: otherId, title: 'Moved' })
  await runAndRecord('comment.delete', { id: comment.id })
  const imported = { op: 'task', id: newId(), externalId: 'csv:1', title: 'Imported' }
  await runAndRecord('project.import', { projectId, operations: [imported] })
  await runAndRecord('subtask.delete', { id: subtask.id })
  await runAndRecord('task.delete', { id: task.id })
  const { id: spareId } = await runAndRecord('project.create', { name: 'Spare' })
  await runAndRecord('project.delete', { id: spareId })
  expect([...done].sort()).toEqual(commands.map(({ name }) => name).sort())
  expect(await faultsOf(sql)).toEqual([])
})

test('a retry of a change shows the blockers that the task had then, and that still exist', async () => {
  const caller = { userId: ada.id }
  const write = async (name: string, input: object) => JSON.parse((await run({ name, input, caller })).body)
  const { id: projectId } = await write('project.create', { name: 'Blocked' })
  const [one, two] = [
    await write('task.create', { projectId, title: 'One' }),
    await write('task.create', { projectId, title: 'Two' }),
  ]
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

test('finds a committed command that two thousand later events follow', async () => {
  const { id: projectId } = await runTwice('project.create', { name: 'Busy' })
  const create = (title: string) =>
    run({ name: 'task.create', input: { projectId, title }, caller: { userId: ada.id } })
  const first = await create('First')
  const { command, routed } = sent
  for (const hundred of upTo(25)) await Promise.all(upTo(100).map((n) => create(`Later ${hundred} ${n}`)))
  const events = await eventsNow()
  expect(await elsewhere(command, { ...routed, again: true })).toEqual(first)
  expect(await eventsNow()).toBe(events)
})

test('a retry of a rejected command is decided again', async () => {
  const { id: projectId } = await runTwice('project.create', { name: 'Anew' })
  const caller = { userId: bea.id }
  const request = { name: 'task.create', input: { projectId, title: 'Refused' }, caller }
  expect(run(request)).rejects.toMatchObject({ status: 404 })
  const { command, routed } = sent
  await runTwice('member.invite', { projectId, email: bea.email, role: 'EDITOR' })
  expect(await elsewhere(command, { ...routed, again: true })).toMatchObject({
    status: 201,
  })
})

test('a retry that would be rejected or change nothing gets 503 while the first copy may still be committed', async () => {
  const { id: projectId } = await runTwice('project.create', { name: 'Unsure' })
  const request = { name: 'task.create', input: { projectId, title: 'T' }, caller: { userId: bea.id } }
  await run(request).catch(() => {})
  const { command, routed } = sent
  const again = () => elsewhere(command, { ...routed, again: true })
  expect(await again().catch((error) => error)).toMatchObject({ status: 503 })
  await runTwice('member.invite', { projectId, email: bea.email, role: 'EDITOR' })
  // The first copy waited in the mailbox of a frozen process.
  const first = await here(command, routed)
  expect(await again()).toEqual(first)

  const rename = (name: string) =>
    run({ name: 'project.update', input: { id: projectId, name }, caller: { userId: ada.id } })
  await rename('Unsure')
  const unchanged = { ...sent.routed, again: true as const }
  const error = await elsewhere(sent.command, unchanged).catch((error) => error)
  expect(error).toMatchObject({ status: 503 })
  const guard = { scope: ada.id, key: 'kept', fingerprint: '' }
  const keyed = { ...unchanged, guard }
  expect(await elsewhere(sent.command, keyed)).toMatchObject({ status: 200 })
  const renaming = { ...sent }
  await rename('Otherwise')
  const late = await here(renaming.command, { ...keyed, again: undefined })
  expect(late).toMatchObject({ status: 200, replayed: true })
  expect((await ada.get(`/projects/${projectId}`)).body.name).toBe('Otherwise')
})

test('if a retry arrives while the first copy runs, and the command changes nothing, both copies get 503', async () => {
  const { id: projectId } = await runTwice('project.create', { name: 'Joined' })
  const serveCommand = openServing(here)
  const serveTwice = () => {
    const routed = { ...sent.routed, id: newId() }
    return Promise.all([serveCommand({ ...routed }), serveCommand({ ...routed, again: true })])
  }
  const refused = { name: 'task.create', input: { projectId, title: 'T' }, caller: { userId: bea.id } }
  const input = { id: projectId, name: 'Joined' }
  const unchanged = { name: 'project.update', input, caller: { userId: ada.id } }
  for (const request of [refused, unchanged]) {
    await run(request).catch(() => {})
    const answers = await serveTwice()
    expect(answers.map((response) => 'status' in response && response.status)).toEqual([503, 503])
  }
  await run({ ...refused, caller: { userId: ada.id } })
  const answers = await serveTwice()
  expect(answers[0]).toMatchObject({ kind: 'reply', status: 201 })
  expect(answers[1]).toEqual(answers[0]!)
})

test('does not start a command after its deadline', async () => {
  const { id: projectId } = await runTwice('project.create', { name: 'Late' })
  await runTwice('task.create', { projectId, title: 'In time' })
  const events = await eventsNow()
  const late = here(sent.command, { ...sent.routed, id: crypto.randomUUID() }, performance.now() - 1)
  expect(late).rejects.toMatchObject({ status: 503 })
  await late.catch(() => {})
  expect(await eventsNow()).toBe(events)
})
