import { etagOf } from '../../clients/typescript/src/etags.ts'
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

test('accepts a resource that it has read as the input of an update, and reads earlier versions', async () => {
  const { id: projectId } = await newProject()
  const task = await docket.tasks.create({ projectId, title: 'Oil', status: 'DONE' })
  const same = await docket.tasks.update(task.id, { ...task, title: 'Oil the wheels' }, { ifMatch: task })
  expect([same.id, same.title]).toEqual([task.id, 'Oil the wheels'])
  const version = (await docket.tasks.list({ projectId }).page()).version!
  expect((await docket.tasks.get(task.id, { asOf: version - 1 })).title).toBe('Oil')
  const counts = { total: 1, counts: [{ value: 'TODO', count: 0 }, {}, { count: 1 }], isExact: true }
  expect(await docket.tasks.counts({ projectId, by: 'status' }, { deadlineMs: 60_000 })).toMatchObject(counts)
  expect(await docket.tasks.delete(task.id)).toEqual({ message: 'Task deleted successfully' })
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

test('sends lists, fields and external ids as the service expects them', async () => {
  const bug = await docket.labels.create({ projectId, name: 'bug' })
  await docket.fields.create({ projectId, key: 'estimate', name: 'Estimate', type: 'number' })
  const more = { title: 'Mend', labelIds: [bug.id], fields: { estimate: 3 } }
  const mend = await docket.tasks.upsert({ projectId, externalId: 'JIRA/1 2', ...more })
  expect(mend.externalId).toBe('JIRA/1 2')
  const found = await docket.tasks.list({ projectId, labels: [bug.id], ready: true, 'field.estimate.min': 2 })
  expect(found).toMatchObject([{ id: mend.id }])
  const hook = await docket.webhooks.create({ projectId, url: unreachableUrl })
  await docket.webhooks.delete(hook.id, { projectId, ifMatch: '*' })
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
  const { id, project, list } = await newProject()
  const ready = await docket.tasks.create({ projectId: id, title: 'Draw' })
  const { version, results } = await project.batch(async (b) => {
    const label = b.label.create({ name: 'bug' })
    const frame = b.task.create({ title: 'Cast', labelIds: [label] })
    const wheels = b.task.create({ title: 'Mount', blockedByIds: [frame] })
    await Promise.resolve()
    b.subtask.toggle({ id: b.subtask.create({ taskId: frame, title: 'Order brass' }) })
    b.task.update({ id: wheels, fields: {}, dueDate: null, status: 'IN_PROGRESS' })
    b.task.claimNext({ leaseSeconds: 60 })
    const other = project.batch((c) => c.subtask.create({ taskId: frame, title: 'Order' }))
    await expect(other).rejects.toBeInstanceOf(TypeError)
  })
  expect([version, results.length]).toEqual([9, 7])
  const [label, frame, wheels] = results as { id: string }[]
  expect(await list()).toMatchObject([
    { id: ready.id, claim: { seq: 9 } },
    { id: frame!.id, labelIds: [label!.id] },
    { id: wheels!.id, blockedByIds: [frame!.id], status: 'IN_PROGRESS' },
  ])
})

test('a dry run commits nothing; ifVersion, rejected operations and a repeated key add no second task', async () => {
  const { id, project, list } = await newProject()
  type Build = Parameters<typeof project.batch>[0]
  const add: Build = (b) => b.task.create({ title: 'Cast' })
  const full = { version: 1, results: [{ title: 'Cast', projectId: id }] }
  expect(await project.batch(add, { dryRun: true, return: 'full' })).toMatchObject(full)
  const late = { name: 'PreconditionFailedError' }
  await expect(project.batch(add, { ifVersion: 9 })).rejects.toMatchObject(late)
  const invalid = project.batch((b) => [b.task.create({ title: 'Cast' }), b.task.create({ title: '' })])
  const error = { name: 'BadRequestError', message: expect.stringContaining('operations[1]: title') }
  await expect(invalid).rejects.toMatchObject(error)
  expect(await list()).toEqual([])
  const first = await project.batch(add, { idempotencyKey: 'cast' })
  expect(await project.batch(add, { idempotencyKey: 'cast' })).toEqual(first)
  const { version } = await project.undo({ seq: first.version }, { dryRun: true })
  expect([version, await list()]).toMatchObject([first.version, [{ title: 'Cast' }]])
})

test('follow of an import yields each change, and ends when its signal aborts', async () => {
  // Without workers, the import remains queued.
  const { id } = await docket.imports.create('Title\nDraw\n', { projectId, source: 'csv' })
  const end = new AbortController()
  const seen: number[] = []
  const following = (async () => {
    for await (const { progress } of docket.imports.follow(id, { signal: end.signal })) {
      if (seen.push(progress) === 2) end.abort(new Error('enough'))
      await service.services.database.background`update imports set read = 2, created = 1 where id = ${id}`
    }
  })()
  await expect(following).rejects.toThrow('enough')
  expect(seen).toEqual([0, 0.4])
})
