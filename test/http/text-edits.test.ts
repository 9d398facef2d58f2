import { at, expectError, make, makeToken, newId, openPair, openProject, register } from '../kit.ts'
import { registerTeam, runBatch, statuses, upTo, versionOf, withOneDatabase } from '../kit.ts'
import type { Answer, Body, OpenApi } from '../kit.ts'

const pair = await openPair()
const people = { ...(await registerTeam(pair.atA.as())), owner: pair.atA }
const { owner, admin, editor, viewer } = people
const atB = at(editor, pair.b)
const required =
  /^(operations\[\d\]: )?This project changes the title or .* only with If-Match: read the task/

async function open(textEdits?: string) {
  const id = await openProject(people)
  if (textEdits) await admin.patch(`/projects/${id}`, { textEdits })
  return id
}
const projectId = await open('if-match')
const elsewhere = await open()

const service = await make(owner, `/projects/${projectId}/service-accounts`, { name: 'CI', role: 'EDITOR' })
const tokens = `/projects/${projectId}/service-accounts/${service.id}/tokens`
const asService = owner.as((await makeToken(owner, { scopes: ['write'] }, tokens)).token)

type Task = Body & { externalId: string }
const newTask = async (fields: object = {}, project = projectId) =>
  (await make(editor, '/tasks', {
    ...{ projectId: project, title: 'Frame', description: 'In brass', externalId: newId() },
    ...fields,
  })) as Task
const etagOf = async (id: string) => (await viewer.get(`/tasks/${id}`)).headers.get('etag')!
const batch = (operations: object[], project = projectId) =>
  editor.post(`/projects/${project}/batch`, { operations })
const condition = (ifMatch?: string): Record<string, string> =>
  ifMatch === undefined ? {} : { 'if-match': ifMatch }
const patch = (id: string, fields: object, ifMatch?: string, by = editor) =>
  by.patch(`/tasks/${id}`, fields, condition(ifMatch))

type Write = (task: Task, fields: object, ifMatch?: string) => Promise<Answer>

/** The ways to change a text of an existing task. */
const ways: Record<string, Write> = {
  PATCH: ({ id }, fields, ifMatch) => patch(id, fields, ifMatch),
  'PATCH in another process': ({ id }, fields, ifMatch) => patch(id, fields, ifMatch, atB),
  'PATCH by a service account': ({ id }, fields, ifMatch) =>
    asService.patch(`/tasks/${id}`, fields, condition(ifMatch)),
  'PATCH of a row that was read': (task, fields, ifMatch) => patch(task.id, { ...task, ...fields }, ifMatch),
  'PATCH with a place': ({ id }, fields, ifMatch) => patch(id, { ...fields, place: 'first' }, ifMatch),
  'PUT by the external id': ({ externalId }, fields, ifMatch) =>
    editor.call('PUT', `/projects/${projectId}/tasks/external/${externalId}`, fields, condition(ifMatch)),
  'task.update in a batch': ({ id }, fields, ifMatch) =>
    batch([{ op: 'task.update', id, ...fields, ifMatch }]),
  'task.upsert in a batch': ({ externalId }, fields, ifMatch) =>
    batch([{ op: 'task.upsert', externalId, ...fields, ifMatch }]),
  'a batch with a change of the same task before': ({ id }, fields, ifMatch) =>
    batch([
      { op: 'task.update', id, priority: 'LOW' },
      { op: 'task.update', id, ...fields, ifMatch },
    ]),
}

test.each(Object.entries(ways))(
  '%s: only a changed title or description needs If-Match with an ETag, and gets the current one with 428',
  async (_, write) => {
    for (const fields of [
      { title: 'Wheel' },
      { description: null },
      { description: '  ' },
      { title: 'Wheel', description: 'In iron', status: 'DONE' },
    ]) {
      const task = await newTask()
      const etag = await etagOf(task.id)
      for (const ifMatch of [undefined, '*', ' * ']) {
        const answer = await write(task, fields, ifMatch)
        expectError(answer, 428, required)
        expect(answer.headers.get('etag')).toBe(etag)
      }
      expectError(await write(task, fields, '"another"'), 412)
      expect(await etagOf(task.id)).toBe(etag)
      expect((await write(task, fields, `W/${etag}`)).status).toBe(200)
      expect(await etagOf(task.id)).not.toBe(etag)
      expectError(await write(task, { title: 'Late' }, etag), 412)
    }
    const task = await newTask()
    for (const fields of [
      { title: '  Frame ' },
      { description: ' In brass\n' },
      { title: 'Frame', description: 'In brass', status: 'IN_PROGRESS' },
      { status: 'DONE', priority: 'HIGH', dueDate: '2030-01-01' },
    ])
      expect([fields, (await write(task, fields)).status]).toEqual([fields, 200])
    const empty = await newTask({ description: null })
    for (const description of ['', null, 'In brass'])
      expect((await write(empty, { description, title: 'Frame' })).status).toBe(200)
    expectError(await write(empty, { description: 'In iron' }), 428)
  },
)

test('the setting is read from the database after a restart', async () => {
  const withService = await withOneDatabase()
  let [token, path] = ['', '']
  await withService({}, async ({ client }) => {
    const ada = await register(client)
    const { id } = await make(ada, '/projects', { name: 'Strict', textEdits: 'if-match' })
    const task = await make(ada, '/tasks', { projectId: id, title: 'Frame' })
    ;[token, path] = [ada.token!, `/tasks/${task.id}`]
  })
  await withService({}, async ({ client }) =>
    expectError(await client.as(token).patch(path, { title: 'Wheel' }), 428),
  )
})

test('a move with a new text follows the setting of the project that the task leaves', async () => {
  const { id } = await newTask()
  const move = { projectId: elsewhere, title: 'Wheel' }
  expectError(await patch(id, move), 428, required)
  expect((await patch(id, move, await etagOf(id))).status).toBe(200)
  const back = { projectId, title: 'Frame', description: 'In iron' }
  expect((await patch(id, back)).body).toMatchObject(back)
  expectError(await patch(id, { title: 'Wheel' }), 428)
  expect((await patch(id, { projectId: elsewhere })).status).toBe(200)
})

test('the ETag of a 428 is that of a read, also of a claimed task and of a task with a deleted label', async () => {
  const names = ['a', 'b'].map((name) => ({ op: 'label.create', name }))
  const labelIds = (await runBatch(editor, projectId, names)).map(({ id }) => id)
  const { id } = await newTask({ labelIds })
  await editor.delete(`/labels/${labelIds[0]}`)
  for (const isClaimed of [false, true]) {
    if (isClaimed) await editor.post(`/tasks/${id}/claim`, { leaseSeconds: 600 })
    for (const by of [editor, atB]) {
      const { status, headers } = await patch(id, { title: 'Wheel' }, undefined, by)
      expect([status, headers.get('etag')]).toEqual([428, await etagOf(id)])
    }
  }
})

test('comments, subtasks, claims, a new task, an upsert that creates, and an undo need no If-Match', async () => {
  const { id } = await newTask()
  const comment = await make(editor, `/tasks/${id}/comments`, { text: 'Slow' })
  const subtask = await make(editor, `/tasks/${id}/subtasks`, { title: 'Oil' })
  const answers = [
    await editor.patch(`/tasks/comments/${comment.id}`, { text: 'Fast' }),
    await editor.patch(`/tasks/subtasks/${subtask.id}`, { title: 'Grease' }),
    await editor.post(`/tasks/${id}/claim`, { leaseSeconds: 60 }),
    await editor.post(`/tasks/${id}/release`),
    await patch(id, { title: 'Wheel' }, await etagOf(id)),
    await editor.post(`/projects/${projectId}/undo`, { seq: await versionOf(viewer, projectId) }),
    await editor.call('PUT', `/projects/${projectId}/tasks/external/${newId()}`, { title: 'A' }),
  ]
  expect(statuses(answers)).toEqual({ 200: 6, 201: 1 })
  expect((await viewer.get(`/tasks/${id}`)).body.title).toBe('Frame')
  expect((await editor.delete(`/tasks/${id}`)).status).toBe(200)
})

test('in a batch, rows of the batch and texts that were empty before it are free, and each other change needs ifMatch', async () => {
  const externalId = newId()
  const empty = await newTask({ description: null })
  const free = await batch([
    { op: 'task.create', as: 'new', title: 'One' },
    { op: 'task.update', id: '#new', title: 'Two', description: 'A' },
    { op: 'task.update', id: '#new', description: 'B' },
    { op: 'task.upsert', externalId, title: 'Three' },
    { op: 'task.upsert', externalId, title: 'Four' },
    { op: 'task.update', id: empty.id, description: 'A' },
    { op: 'task.update', id: empty.id, description: 'B' },
  ])
  expect(free.status).toBe(200)
  const { id } = await newTask()
  await runBatch(editor, projectId, [
    { op: 'task.update', id, description: null, ifMatch: await etagOf(id) },
    { op: 'task.update', id, description: 'In iron' },
  ])
  const ifMatch = await etagOf(id)
  const first = { op: 'task.update', id, title: 'Wheel', ifMatch }
  const unmatched = await batch([first, { op: 'task.update', id, title: 'Gear' }])
  expectError(unmatched, 428, /^operations\[1\]: /)
  expect(unmatched.headers.get('etag')).toBe(ifMatch)
  const [, last] = await runBatch(editor, projectId, [first, { ...first, title: 'Gear' }])
  expect(last).toMatchObject({ etag: await etagOf(id) } as never)
  expectError(await batch([first]), 412, /^operations\[0\]: /)
})

test('in a batch, ifMatch is compared with the row before the batch, also by task.upsert, task.append and task.delete', async () => {
  const { id, externalId } = await newTask()
  const operations = (ifMatch: string) =>
    [
      { op: 'task.update', id, status: 'DONE' },
      { op: 'task.upsert', externalId, title: `Wheel ${newId()}` },
      { op: 'task.append', id, field: 'description', text: 'A' },
      { op: 'task.update', id, description: `In iron ${newId()}` },
    ].map((one) => ({ ...one, ifMatch }))
  for (const _ of upTo(2)) {
    const ifMatch = await etagOf(id)
    await runBatch(editor, projectId, operations(ifMatch))
    for (const stale of operations(ifMatch)) expectError(await batch([stale]), 412, /^operations\[0\]: /)
  }
  const [update, ...others] = operations(await etagOf(id))
  await runBatch(editor, projectId, [...others, update!, { op: 'task.delete', id, ifMatch: update!.ifMatch }])
})

test('every operation of a batch accepts ifMatch, which a row that did not exist before the batch does not match', async () => {
  const api = (await editor.get('/../docs/json')).body as unknown as OpenApi
  const schemas = Object.entries(api.components.schemas).filter(([name]) => name.endsWith('Operation'))
  expect(schemas.length).toBeGreaterThan(25)
  for (const [name, schema] of schemas) expect([name, 'ifMatch' in schema.properties!]).toEqual([name, true])
  const create = { op: 'task.create', as: 'new', title: 'T' }
  for (const ifMatch of ['*', '"another"'])
    for (const operations of [
      [{ ...create, ifMatch }],
      [{ op: 'task.upsert', externalId: newId(), title: 'T', ifMatch }],
      [create, { op: 'task.update', id: '#new', status: 'DONE', ifMatch }],
    ])
      expectError(await batch(operations), 412, /^operations\[[01]\]: The resource has changed/)
})

test('the setting counts from its event on, also in a batch, until it is taken back', async () => {
  const id = await open()
  const path = `/projects/${id}`
  const task = await newTask({}, id)
  const write = async () => (await patch(task.id, { title: newId() })).status
  const undo = async () => admin.post(`${path}/undo`, { seq: await versionOf(admin, id) })
  const strict: object = { textEdits: 'if-match' }
  expect(await write()).toBe(200)
  await admin.patch(path, strict)
  const { body: listed } = await admin.get('/projects')
  expect(listed.find((one) => one.id === id)).toMatchObject(strict)
  expect([await write(), (await undo()).status, await write()]).toEqual([428, 200, 200])
  await runBatch(admin, id, [
    { op: 'task.create', as: 'new', title: 'T' },
    { op: 'project.update', ...strict },
    { op: 'task.update', id: '#new', title: 'U' },
  ])
  expect(await write()).toBe(428)
})

const append = (id: string, text: unknown, over: object = {}, headers = {}) =>
  editor.post(`/tasks/${id}/append`, { field: 'description', text, ...over }, headers)

test('append adds a text to the description after a blank line, never needs If-Match, and can be undone', async () => {
  const { id } = await newTask({ description: null })
  for (const [text, description] of [
    [' One\n', 'One'],
    ['Two\nlines', 'One\n\nTwo\nlines'],
    ['Three', 'One\n\nTwo\nlines\n\nThree'],
  ])
    expect((await append(id, text)).body).toMatchObject({ id, description: description! })
  const operation = { op: 'task.append', id, field: 'description' }
  const texts = ['Four', 'Five'].map((text) => ({ ...operation, text }))
  expect((await runBatch(editor, projectId, texts))[0]!.id).toBe(id)
  const read = await viewer.get(`/tasks/${id}`)
  expect(read.body.description).toBe('One\n\nTwo\nlines\n\nThree\n\nFour\n\nFive')
  expectError(await append(id, 'Six', {}, condition('"another"')), 412)
  const seq = Number(read.headers.get('docket-version'))
  const [event] = (await viewer.get(`/projects/${projectId}/events?after=${seq - 1}`)).body
  const before = { description: expect.stringMatching(/Four$/) }
  expect(event).toMatchObject({ type: 'task.updated', before } as never)
  expect((await editor.post(`/projects/${projectId}/undo`, { seq })).status).toBe(200)
  expect((await viewer.get(`/tasks/${id}`)).body.description).toMatch(/Four$/)
})

test('append rejects other fields, empty and long texts', async () => {
  const { id } = await newTask({ description: '🎡'.repeat(19_990) })
  const wrong = [{ field: 'title' }, { field: undefined }, { text: '' }, { text: ' \n' }, { text: undefined }]
  for (const over of [...wrong, { more: 1 }]) expect((await append(id, 'A', over)).status).toBe(400)
  expectError(await append(id, 'x'.repeat(20_001)), 400, /^text must be a text of 1 to 20000/)
  const tooLong = 'text must leave the description at most 20000 characters: send a shorter text'
  expectError(await append(id, 'x'.repeat(9)), 400, tooLong)
  expect((await append(id, 'x'.repeat(8))).status).toBe(200)
})

test('concurrent appends lose no text, and a repeat with its Idempotency-Key adds a text once', async () => {
  const { id } = await newTask({ description: null })
  const texts = upTo(20).map((n) => `Text ${n}`)
  const send = (text: string, n: number) =>
    (n % 2 ? editor : atB).post(
      `/tasks/${id}/append`,
      { field: 'description', text },
      { 'idempotency-key': `${id} ${text}` },
    )
  expect(statuses(await Promise.all([...texts, ...texts].map(send)))).toEqual({ 200: 40 })
  const { description } = (await viewer.get(`/tasks/${id}`)).body
  expect(description!.split('\n\n').sort()).toEqual(texts.sort())
})
