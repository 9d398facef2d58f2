import { etagOf } from '../../clients/typescript/src/etags.ts'
import type { Import } from '../../clients/typescript/src/schemas.ts'
import { unreachableUrl } from '../kit.ts'
import { openClientScene } from './scene.ts'

const { docket, open, service, newProject } = await openClientScene()
const project = await docket.projects.create({ name: 'Engine' })
const projectId = project.id
const draw = await docket.tasks.create({ projectId, title: 'Draw' })
const id = '019a2b3c-4d5e-7f60-8a9b-0c1d2e3f4a5b'

test('the methods send a request for every operation of the OpenAPI document', async () => {
  const { body } = await service.client.get('/../docs/json')
  const { paths } = body as unknown as { paths: Record<string, object> }
  const documented = Object.entries(paths).flatMap(([path, operations]) =>
    Object.keys(operations).map((method) => `${method.toUpperCase()} ${path.replace(/\{\w+\}/g, id)}`),
  )
  const sent = new Set<string>()
  const recording = open({
    fetch: async (url, { method = 'GET' }) => {
      sent.add(`${method} ${new URL(url).pathname}`)
      return Response.json([])
    },
  })
  type Method = (...given: unknown[]) => PromiseLike<unknown> & Partial<AsyncIterator<unknown>>
  const { transport: _, search, ...resources } = recording
  const ofProject = recording.project(id)
  const methods: Method[] = [
    ...Object.values(resources).flatMap((one) => Object.values(one)),
    ...[search, ofProject.history.bind(ofProject), ofProject.claimNext.bind(ofProject)],
    () => ofProject.undo({ seq: 1 }),
    () => ofProject.batch((b) => b.task.create({ title: 'Draw' })),
  ] as never[]
  const ids = { projectId: id, taskId: id, accountId: id, externalId: id }
  // A method has an id or a file as its first argument, or only an input.
  for (const given of [[id, ids], [ids]])
    for (const method of methods)
      await (async () => {
        const result = method(...given)
        await (result.next?.() ?? result)
      })().catch(() => {})
  const others = ['GET /api/v1/events', 'GET /health/live', 'GET /health/ready', 'POST /mcp']
  expect(documented.filter((one) => !sent.has(one)).sort()).toEqual(others.sort())
  expect([...sent].filter((one) => !documented.includes(one) && !one.includes('%5B'))).toEqual([])
})

test('creates, reads, updates, lists, counts and deletes tasks', async () => {
  const { id: projectId } = await newProject()
  const task = await docket.tasks.create({ projectId, title: 'Oil', status: 'DONE' })
  await docket.tasks.update(task.id, { status: 'IN_PROGRESS' }, { ifMatch: task })
  expect((await docket.tasks.get(task.id)).status).toBe('IN_PROGRESS')
  const version = (await docket.tasks.list({ projectId }).page()).version!
  expect((await docket.tasks.get(task.id, { asOf: version - 1 })).status).toBe('DONE')
  expect(await docket.tasks.list({ projectId, status: 'IN_PROGRESS' })).toHaveLength(1)
  const counts = { total: 1, counts: [{ value: 'TODO', count: 0 }, { count: 1 }, {}], isExact: true }
  expect(await docket.tasks.counts({ projectId, by: 'status' }, { deadlineMs: 60_000 })).toMatchObject(counts)
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
  const ifMatch = etagOf(await docket.tasks.get(task.id))!
  const error = { name: 'PreconditionRequiredError', status: 428, etag: ifMatch }
  await expect(docket.tasks.update(task.id, { title: 'Mend' })).rejects.toMatchObject(error)
  const { results } = await docket.project(strict.id).batch((b) => {
    b.task.append({ id: task.id, field: 'description', text: 'C', ifMatch })
    b.task.update({ id: task.id, title: 'Mend', ifMatch })
  })
  expect(results).toHaveLength(2)
})

test('a list is one page when awaited, and all pages in a loop', async () => {
  const { id } = await newProject(3)
  const list = docket.tasks.list({ projectId: id, limit: 2 })
  const titles: string[] = []
  for await (const { title } of list) titles.push(title)
  expect(titles).toEqual(['T1', 'T2', 'T3'])
  expect((await list).map(({ title }) => title)).toEqual(['T1', 'T2'])
  expect(await list.all()).toHaveLength(3)
  const { cursor } = await list.page()
  expect((await list.page(cursor)).rows.map(({ title }) => title)).toEqual(['T3'])
  // The cursor of a page of events is a seq.
  const events = await docket.events.list({ projectId: id, after: 0, limit: 3 }).all()
  expect(events.map(({ seq }) => seq)).toEqual([1, 2, 3, 4])
})

test('accepts the ids of tasks and projects as fields of the input', async () => {
  const step = await docket.subtasks.create({ taskId: draw.id, title: 'Sharpen' })
  expect((await docket.subtasks.toggle(step.id)).completed).toBe(true)
  expect(await docket.subtasks.list({ taskId: draw.id })).toMatchObject([{ id: step.id, completed: true }])
  const hook = await docket.webhooks.create({ projectId, url: unreachableUrl })
  expect(await docket.webhooks.deliveries(hook.id, { projectId })).toEqual([])
  await docket.webhooks.delete(hook.id, { projectId, ifMatch: '*' })
  const bug = await docket.labels.create({ projectId, name: 'bug' })
  await docket.fields.create({ projectId, key: 'estimate', name: 'Estimate', type: 'number' })
  const more = { title: 'Mend', labelIds: [bug.id], fields: { estimate: 3 } }
  const mend = await docket.tasks.upsert({ projectId, externalId: 'JIRA/1 2', ...more })
  expect(mend.externalId).toBe('JIRA/1 2')
  const found = await docket.tasks.list({ projectId, labels: [bug.id], ready: true, 'field.estimate.min': 2 })
  expect(found).toMatchObject([{ id: mend.id }])
  const view = await docket.views.create({ projectId, name: 'Bugs', query: { labels: bug.id } })
  expect(await docket.views.tasks(view.id)).toMatchObject([{ id: mend.id }])
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

test('ifMatch accepts a resource with an ETag, and rejects a row of a list; ids are checked', async () => {
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

test('a batch commits its operations together, and replaces references by new ids', async () => {
  const { project, list } = await newProject()
  const { version, results } = await project.batch(async (b) => {
    const label = b.label.create({ name: 'bug' })
    const frame = b.task.create({ title: 'Cast', labelIds: [label] })
    const wheels = b.task.create({ title: 'Mount', blockedByIds: [frame] })
    await Promise.resolve()
    b.subtask.toggle({ id: b.subtask.create({ taskId: frame, title: 'Order brass' }) })
    b.task.update({ id: wheels, fields: {}, dueDate: null, status: 'IN_PROGRESS' })
    b.task.claimNext({ leaseSeconds: 60, anyLabel: [label] })
    const other = project.batch((c) => c.subtask.create({ taskId: frame, title: 'Order' }))
    await expect(other).rejects.toBeInstanceOf(TypeError)
  })
  expect([version, results.length]).toEqual([8, 7])
  const [label, frame, wheels] = results as { id: string }[]
  expect(await list()).toMatchObject([
    { id: frame!.id, labelIds: [label!.id], claim: { seq: 8 } },
    { id: wheels!.id, blockedByIds: [frame!.id], status: 'IN_PROGRESS' },
  ])
})

test('a dry run commits nothing; ifVersion, rejected operations and a repeated key add no second task', async () => {
  const { id, project, list } = await newProject()
  type Build = Parameters<typeof project.batch>[0]
  const add: Build = (b) => b.task.create({ title: 'Cast' })
  expect(await project.batch(add, { dryRun: true, return: 'full' })).toMatchObject({
    ...{ version: 1, results: [{ title: 'Cast', projectId: id }] },
  })
  const late = { name: 'PreconditionFailedError' }
  await expect(project.batch(add, { ifVersion: 9 })).rejects.toMatchObject(late)
  const invalid = project.batch((b) => [b.task.create({ title: 'Cast' }), b.task.create({ title: '' })])
  const error = { name: 'BadRequestError', message: expect.stringContaining('operations[1]: title') }
  await expect(invalid).rejects.toMatchObject(error)
  expect(await list()).toEqual([])
  const first = await project.batch(add, { idempotencyKey: 'cast' })
  expect(await project.batch(add, { idempotencyKey: 'cast' })).toEqual(first)
  expect(await list()).toHaveLength(1)
})

const file = 'Title,List\nDraw the plate,Doing\nOil the wheels,Workshop\n'

test('follow of an import yields each change, and ends when its signal aborts', async () => {
  // Without workers, the import remains queued.
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

test('imports a file, follows the import to its end, and undoes it; errors are those of the service', async () => {
  service.startWorkers()
  const { id: projectId, list } = await newProject()
  const lastOf = async (id: string) => {
    const progress: Import[] = []
    for await (const one of docket.imports.follow(id)) progress.push(one)
    return progress.at(-1)!
  }
  const dry = await docket.imports.create(file, { projectId, source: 'csv', dryRun: true })
  const proposed = await lastOf(dry.id)
  expect(proposed).toMatchObject({ state: 'done', dryRun: true, counts: { created: 2 } })
  const mapping = { ...proposed.mapping, statuses: { Workshop: 'IN_PROGRESS' as const } }
  const { id } = await docket.imports.create(new Blob([file]), { projectId, source: 'csv', mapping })
  expect(await lastOf(id)).toMatchObject({ id, state: 'done', counts: { created: 2 } })
  expect((await list()).map(({ title, status }) => `${title}: ${status}`)).toEqual([
    'Draw the plate: IN_PROGRESS',
    'Oil the wheels: IN_PROGRESS',
  ])
  expect((await docket.imports.list({ projectId })).map((one) => one.id)).toEqual([id, dry.id])
  expect(await docket.imports.report(id).all()).toBeArray()
  expect((await docket.imports.undo(id)).undo).toMatchObject({ state: 'done', kept: 0 })
  expect(await list()).toEqual([])
  await expect(docket.imports.cancel(id)).rejects.toMatchObject({ name: 'ConflictError' })
  const wrong = docket.imports.create('', { projectId, source: 'csv' })
  await expect(wrong).rejects.toMatchObject({ status: 400, message: 'The file is empty' })
  await expect(lastOf(projectId)).rejects.toMatchObject({ status: 404 })
})
