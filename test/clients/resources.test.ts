import { children } from '../../clients/typescript/src/declarations.ts'
import { etagOf } from '../../clients/typescript/src/etags.ts'
import { Docket } from '../../clients/typescript/src/docket.ts'
import { PreconditionRequiredError } from '../../clients/typescript/src/errors.ts'
import { expiresAt, register, sourcesIn, unreachableUrl, words } from '../kit.ts'
import { openClientScene, origin } from './scene.ts'
import { BadRequestError, PreconditionFailedError } from '../../clients/typescript/src/errors.ts'
import type { Import } from '../../clients/typescript/src/schemas.ts'

const { docket, send, service } = await openClientScene()
const project = await docket.projects.create({ name: 'Engine' })
const projectId = project.id
const draw = await docket.tasks.create({ projectId, title: 'Draw' })

test('creates, reads, updates, lists and deletes tasks', async () => {
  const task = await docket.tasks.create({ projectId, title: 'Oil', status: 'DONE' })
  await docket.tasks.update(task.id, { status: 'IN_PROGRESS' }, { ifMatch: task })
  expect((await docket.tasks.get(task.id)).status).toBe('IN_PROGRESS')
  const version = (await docket.tasks.list({ projectId }).page()).version!
  expect((await docket.tasks.get(task.id, { asOf: version - 1 })).status).toBe('DONE')
  expect(await docket.tasks.list({ projectId, status: 'IN_PROGRESS' })).toHaveLength(1)
  // A client may send back a resource that it has read.
  const same = await docket.tasks.update(task.id, { ...task, title: 'Oil the wheels' })
  expect([same.id, same.title]).toEqual([task.id, 'Oil the wheels'])
  expect(await docket.tasks.delete(task.id)).toEqual({ message: 'Task deleted successfully' })
  const [deleted] = await docket.tasks.history(task.id, { limit: 1 })
  expect(deleted!.type).toBe('task.deleted')
})

test('appends to a description, and throws the current ETag if a change of a text needs ifMatch', async () => {
  const strict = await docket.projects.create({ name: 'Strict', textEdits: 'if-match' })
  const task = await docket.tasks.create({ projectId: strict.id, title: 'Oil', description: 'A' })
  const { description } = await docket.tasks.append(task.id, { field: 'description', text: 'B' })
  expect(description).toBe('A\n\nB')
  const error = await docket.tasks.update(task.id, { title: 'Mend' }).catch((error: unknown) => error)
  expect(error).toBeInstanceOf(PreconditionRequiredError)
  const ifMatch = etagOf(await docket.tasks.get(task.id))!
  expect(error).toMatchObject({ status: 428, etag: ifMatch })
  const { results } = await docket.project(strict.id).batch((b) => {
    b.task.append({ id: task.id, field: 'description', text: 'C', ifMatch })
    b.task.update({ id: task.id, title: 'Mend', ifMatch })
  })
  expect(results).toHaveLength(2)
})

test('counts the tasks of a project', async () => {
  const { id } = await docket.projects.create({ name: 'Counted' })
  for (const status of ['TODO', 'DONE', 'DONE'] as const)
    await docket.tasks.create({ projectId: id, title: 'Draw', status })
  const { total, counts, isExact } = await docket.tasks.counts({ projectId: id, by: 'status', ready: true })
  expect([total, counts[0], isExact]).toEqual([1, { value: 'TODO', count: 1 }, true])
  expect((await docket.tasks.counts({ projectId: id }, { deadlineMs: 60_000 })).total).toBe(3)
})

test('a list is one page when awaited, and all pages in a loop', async () => {
  const { id } = await docket.projects.create({ name: 'Many' })
  for (const title of ['A', 'B', 'C']) await docket.tasks.create({ projectId: id, title })
  const list = docket.tasks.list({ projectId: id, limit: 2 })
  const titles: string[] = []
  for await (const { title } of list) titles.push(title)
  expect(titles).toEqual(['A', 'B', 'C'])
  expect((await list).map(({ title }) => title)).toEqual(['A', 'B'])
  expect(await list.all()).toHaveLength(3)
  const { cursor } = await list.page()
  expect((await list.page(cursor)).rows.map(({ title }) => title)).toEqual(['C'])
  // The cursor of a page of events is a seq.
  const seqs: number[] = []
  for await (const { seq } of docket.events.list({ projectId: id, after: 0, limit: 3 })) seqs.push(seq)
  expect(seqs).toEqual([1, 2, 3, 4])
})

test('accepts the ids of tasks and projects as fields of the input', async () => {
  const step = await docket.subtasks.create({ taskId: draw.id, title: 'Sharpen' })
  expect((await docket.subtasks.toggle(step.id)).completed).toBe(true)
  expect(await docket.subtasks.list({ taskId: draw.id })).toMatchObject([{ id: step.id, completed: true }])
  const comment = await docket.comments.create({ taskId: draw.id, text: 'In brass' })
  expect((await docket.comments.update(comment.id, { text: 'In ink' })).text).toBe('In ink')
  const { email } = await register(service.client, 'Grace')
  const member = await docket.members.create({ projectId, email })
  expect((await docket.members.update(member.id, { projectId, role: 'EDITOR' })).role).toBe('EDITOR')
  const removed = await docket.members.delete(member.id, { projectId, revoke: true, ifMatch: '*' })
  expect(removed.message).toBe('Member removed successfully')
  const hook = await docket.webhooks.create({ projectId, url: unreachableUrl })
  expect((await docket.webhooks.get(hook.id, { projectId })).url).toBe(unreachableUrl)
  expect(await docket.webhooks.deliveries(hook.id, { projectId })).toEqual([])
  await docket.webhooks.delete(hook.id, { projectId })
})

test('lists tasks by labels, custom fields and views', async () => {
  const bug = await docket.labels.create({ projectId, name: 'bug' })
  const field = await docket.fields.create({ projectId, key: 'estimate', name: 'Estimate', type: 'number' })
  const body = {
    projectId,
    externalId: 'JIRA/1 2',
    title: 'Mend',
    labelIds: [bug.id],
    fields: { estimate: 3 },
  }
  const mend = await docket.tasks.upsert(body)
  expect(mend.externalId).toBe('JIRA/1 2')
  const found = await docket.tasks.list({ projectId, labels: [bug.id], ready: true, 'field.estimate.min': 2 })
  expect(found).toMatchObject([{ id: mend.id }])
  const view = await docket.views.create({ projectId, name: 'Bugs', query: { labels: bug.id } })
  expect(await docket.views.tasks(view.id)).toMatchObject([{ id: mend.id }])
  expect((await docket.fields.list({ projectId })).map(({ id }) => id)).toEqual([field.id])
})

test('claims a task, writes with ifClaim, and undoes changes', async () => {
  const claimed = await docket.tasks.claim(draw.id, { leaseSeconds: 60 })
  await docket.tasks.update(draw.id, { status: 'DONE' }, { ifClaim: claimed })
  const write = docket.comments.create({ taskId: draw.id, text: 'Late' }, { ifClaim: claimed })
  await expect(write).rejects.toMatchObject({ name: 'PreconditionFailedError', status: 412 })
  const [last] = await docket.project(projectId).history({ limit: 1 })
  const { seq } = last!
  const dry = await docket.project(projectId).undo({ seq }, { dryRun: true })
  const undone = await docket.project(projectId).undo({ seq })
  expect(undone.version).toBeGreaterThan(dry.version)
})

test('registers and signs in an account, and manages API tokens and service accounts', async () => {
  const visitor = new Docket({ url: origin, fetch: send })
  const person = { email: 'ada-of-the-client@example.com', password: 'correct horse' }
  await visitor.account.register({ name: 'Ada', ...person })
  const { access_token: token } = await visitor.account.login(person)
  const own = new Docket({ url: `${origin}/api/v1/`, token: async () => token, fetch: send })
  expect((await own.account.get()).email).toBe(person.email)
  const api = await own.tokens.create({ name: 'Importer', scopes: ['read'], expiresAt })
  expect(await own.tokens.list()).toHaveLength(1)
  expect(await own.tokens.delete(api.id)).toBeUndefined()
  const bot = await docket.serviceAccounts.create({ projectId, name: 'Bot' })
  const given = { name: 'T', scopes: ['write' as const], expiresAt }
  const made = await docket.serviceAccounts.createToken({ projectId, accountId: bot.id, ...given })
  await docket.serviceAccounts.deleteToken(made.id, { projectId, accountId: bot.id })
  await own.account.logout()
  await expect(own.account.get()).rejects.toMatchObject({ name: 'UnauthorizedError', status: 401 })
})

test('ifMatch accepts a resource with an ETag, and rejects a row of a list', async () => {
  const read = await docket.tasks.get(draw.id)
  await docket.tasks.update(draw.id, { title: 'Draw again' })
  const weak = `W/${etagOf(await docket.tasks.get(draw.id))}`
  const stale = docket.tasks.update(draw.id, { title: 'Draw' }, { ifMatch: read })
  await docket.tasks.update(draw.id, { title: 'Draw once more' }, { ifMatch: weak })
  await expect(stale).rejects.toMatchObject({ status: 412 })
  expect(etagOf(read)).toMatch(/^".*"$/)
  const [row] = await docket.tasks.list({ projectId, limit: 1 })
  const write = docket.tasks.delete(draw.id, { ifMatch: row! })
  await expect(write).rejects.toThrow('ifMatch must be an ETag')
  await expect(docket.tasks.get('..')).rejects.toThrow('id must be an id, not ".."')
  expect(() => docket.project('../tasks')).toThrow('A project needs an id, not "../tasks"')
})

test('every operation has a method, with the route of the OpenAPI document', async () => {
  const { body } = await service.client.get('/../docs/json')
  const { paths } = body as unknown as { paths: Record<string, Record<string, { operationId: string }>> }
  const shape = (path: string) => path.replace(/\{\w+\}/g, '{}')
  const documented = Object.entries(paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, { operationId }]) => [
      operationId,
      `${method.toUpperCase()} ${shape(path.replace('/api/v1', ''))}`,
    ]),
  )
  const text = sourcesIn('clients/typescript/src')
    .map((one) => one.text)
    .join('\n')
  const tokens = '/projects/{projectId}/service-accounts/{accountId}/tokens'
  const calls = text
    .replaceAll('${tokensOfAccount}', tokens)
    .matchAll(/calls\.\w+\('(\w+)', ['`]([^'`]+)['`]\)/g)
  const ofChildren = Object.entries(children).flatMap(([plural, noun]) => [
    [`create${noun}`, `POST /tasks/{}/${plural}`],
    [`list${plural.charAt(0).toUpperCase()}${plural.slice(1)}`, `GET /tasks/{}/${plural}`],
    [`update${noun}`, `PATCH /tasks/${plural}/{}`],
    [`delete${noun}`, `DELETE /tasks/${plural}/{}`],
  ])
  for (const plural of Object.keys(children))
    expect(Object.keys(docket[plural as 'subtasks'])).toEqual(
      expect.arrayContaining(['create', 'list', 'update', 'delete']),
    )
  const built = new Map([
    ...[...calls].map(([, name, route]): [string, string] => [name!, shape(route!)]),
    ...(ofChildren as [string, string][]),
  ])
  const others = words(
    `readLiveness readReadiness callMcp followProjects batchProject claimNextTask undoProject`,
  )
  const expected = documented.filter(([name]) => !others.includes(name!))
  expect(expected.length).toBeGreaterThan(50)
  expect(expected.map(([name]) => [name, built.get(name!)])).toEqual(expected)
})

async function openProject() {
  const { id } = await docket.projects.create({ name: 'Engine' })
  return { id, project: docket.project(id) }
}

test('a batch commits its operations together, and replaces references by new ids', async () => {
  const { id, project } = await openProject()
  const { version, results } = await project.batch(async (b) => {
    const label = b.label.create({ name: 'bug' })
    const frame = b.task.create({ title: 'Cast', labelIds: [label] })
    const wheels = b.task.create({ title: 'Mount', blockedByIds: [frame], before: frame })
    await Promise.resolve()
    b.subtask.toggle({ id: b.subtask.create({ taskId: frame, title: 'Order brass' }) })
    b.task.update({ id: wheels, fields: {}, dueDate: null, status: 'IN_PROGRESS' })
    b.task.claimNext({ leaseSeconds: 60, anyLabel: [label] })
  })
  expect([version, results.length]).toEqual([8, 7])
  const [label, frame, wheels] = results as { id: string }[]
  expect(await docket.tasks.list({ projectId: id, sort: 'position' })).toMatchObject([
    { id: wheels!.id, blockedByIds: [frame!.id], status: 'IN_PROGRESS' },
    { id: frame!.id, labelIds: [label!.id], claim: { seq: 8 } },
  ])
})

test('a dry run commits nothing, and ifVersion and rejected operations reject the batch', async () => {
  const { id, project } = await openProject()
  const add = (b: Parameters<Parameters<typeof project.batch>[0]>[0]) => b.task.create({ title: 'Cast' })
  expect(await project.batch(add, { dryRun: true, return: 'full' })).toMatchObject({
    ...{ version: 1, results: [{ title: 'Cast', projectId: id }] },
  })
  await expect(project.batch(add, { ifVersion: 9 })).rejects.toBeInstanceOf(PreconditionFailedError)
  const invalid = project.batch((b) => {
    add(b)
    b.task.create({ title: '' })
  })
  await expect(invalid).rejects.toThrow('operations[1]: title')
  await expect(invalid).rejects.toBeInstanceOf(BadRequestError)
  expect(await docket.tasks.list({ projectId: id })).toEqual([])
  const [first, second] = [
    await project.batch(add, { idempotencyKey: 'cast' }),
    await project.batch(add, { idempotencyKey: 'cast' }),
  ]
  expect(second).toEqual(first)
})

test('a reference cannot be used in another batch', async () => {
  const { project } = await openProject()
  await project.batch(async (b) => {
    const task = b.task.create({ title: 'Cast' })
    const other = project.batch((c) => c.subtask.create({ taskId: task, title: 'Order' }))
    await expect(other).rejects.toBeInstanceOf(TypeError)
  })
})

service.startWorkers()
const file = 'Title,List\nDraw the plate,Doing\nOil the wheels,Workshop\n'

const newProject = async () => (await docket.projects.create({ name: 'Engine' })).id

async function lastOf(progress: AsyncIterable<Import>): Promise<Import> {
  let last: Import | undefined
  for await (const one of progress) last = one
  return last!
}

test('imports a file, follows the import to its end, and undoes it', async () => {
  const projectId = await newProject()
  const dry = await docket.imports.create(file, { projectId, source: 'csv', dryRun: true })
  const proposed = await lastOf(docket.imports.follow(dry.id))
  expect(proposed).toMatchObject({ state: 'done', dryRun: true, counts: { created: 2 } })
  const mapping = { ...proposed.mapping, statuses: { Workshop: 'IN_PROGRESS' as const } }
  const { id } = await docket.imports.create(new Blob([file]), { projectId, source: 'csv', mapping })
  expect(await lastOf(docket.imports.follow(id))).toMatchObject({ id, state: 'done', counts: { created: 2 } })
  const tasks = await docket.tasks.list({ projectId, status: 'IN_PROGRESS' })
  expect(tasks.map(({ title }) => title)).toEqual(['Draw the plate', 'Oil the wheels'])
  expect((await docket.imports.list({ projectId })).map((one) => one.id)).toEqual([id, dry.id])
  expect(await docket.imports.report(id).all()).toBeArray()
  expect((await docket.imports.undo(id)).undo).toMatchObject({ state: 'done' })
  expect(await docket.tasks.list({ projectId })).toEqual([])
  expect((await docket.imports.get(id)).undo).toMatchObject({ kept: 0 })
  await expect(docket.imports.cancel(id)).rejects.toMatchObject({ name: 'ConflictError' })
})

test('a rejected file and an unknown import throw errors of the service', async () => {
  const projectId = await newProject()
  const wrong = docket.imports.create('', { projectId, source: 'csv' })
  await expect(wrong).rejects.toMatchObject({ status: 400, message: 'The file is empty' })
  const unknown = lastOf(docket.imports.follow('019a2b3c-4d5e-7f60-8a9b-0c1d2e3f4a5b'))
  await expect(unknown).rejects.toMatchObject({ status: 404 })
})

test('follow yields each change, and ends when its signal aborts', async () => {
  // Without workers, the import remains queued.
  const { docket, service } = await openClientScene()
  const { id: projectId } = await docket.projects.create({ name: 'Engine' })
  const { id } = await docket.imports.create(file, { projectId, source: 'csv' })
  const end = new AbortController()
  const seen: number[] = []
  const following = (async () => {
    for await (const { progress } of docket.imports.follow(id, { signal: end.signal })) {
      if (seen.push(progress) === 2) end.abort(new Error('enough'))
      await service.services.database.background`update imports set progress = 0.5 where id = ${id}`
    }
  })()
  await expect(following).rejects.toThrow('enough')
  expect(seen).toEqual([0, 0.5])
})
