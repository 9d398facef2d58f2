import { expectError, expectResponse, faultsOf, versionOf } from '../kit.ts'
import { openFieldsScene, type TaskWithFields } from './fields-scene.ts'

const { project, add, create, read, patch, admin, editor, viewer, sql } = await openFieldsScene()

test('tasks have values for the fields of their project, and a change keeps the other values', async () => {
  const projectId = await project()
  for (const [key, type] of Object.entries({ note: 'text', count: 'number', on: 'boolean', at: 'date' }))
    await add(projectId, key, type)
  await add(projectId, 'size', 'choice', { options: ['small', 'large'] })
  const plain = await create(projectId)
  expect(plain.fields).toEqual({})
  const fields = { note: ' a ', count: 1.5, on: false, at: '2028-02-29', size: 'small' }
  const task = await create(projectId, { fields })
  expect(task.fields).toEqual({ ...fields, note: 'a' })
  const changed = await patch(task.id, { count: -0, note: null })
  expect((changed.body as TaskWithFields).fields).toEqual({
    count: 0,
    on: false,
    at: '2028-02-29',
    size: 'small',
  })
  const now = await viewer.get(`/tasks/${task.id}`)
  expect([now.text, now.headers.get('etag')]).toEqual([changed.text, changed.headers.get('etag')])
  expectResponse(await viewer.get(`/tasks?projectId=${projectId}`), 200, [plain, changed.body])
  const same = await patch(task.id, { size: 'small', note: '' })
  expect(same.headers.get('etag')).toBe(now.headers.get('etag'))
  const { body: events } = await viewer.get(`/tasks/${task.id}/history`)
  expect(events[0]).toMatchObject({
    before: { fields: task.fields },
    after: { fields: (changed.body as TaskWithFields).fields },
  })
  expect((await patch(task.id, { count: null, on: null, at: null, size: null })).body).toMatchObject({
    fields: {},
  })
  expect(await faultsOf(sql)).toEqual([])
})

test('an unknown key, a wrong type or choice, and values that are not an object get 400', async () => {
  const projectId = await project()
  await add(projectId, 'size', 'choice', { options: ['small'] })
  await add(projectId, 'count', 'number')
  const task = await create(projectId)
  const messages: [unknown, string | RegExp][] = [
    [{ sise: 'small' }, 'fields.sise must be the key of a field of the project'],
    [{ size: 'large' }, 'fields.size must be one of the options of the field'],
    [{ count: '1' }, 'fields.count must be a number'],
    [{ count: {} }, 'fields.count must be a number'],
    [{ constructor: 1 }, 'fields.constructor must be the key of a field of the project'],
    [[1], /^fields must be an object with at most 50 values/],
    [null, /^fields must be an object/],
    [Object.fromEntries(Array.from({ length: 51 }, (_, n) => [`k${n}`, 1])), /^fields must be an object/],
  ]
  for (const [fields, message] of messages) {
    expectError(await editor.patch(`/tasks/${task.id}`, { fields }), 400, message)
    expectError(await editor.post('/tasks', { title: 'T', projectId, fields }), 400, message)
  }
  const batch = { operations: [{ op: 'task.update', id: task.id, fields: { count: '1' } }] }
  const message = 'operations[0]: fields.count must be a number'
  expectError(await editor.post(`/projects/${projectId}/batch`, batch), 400, message)
})

test('a move keeps the values that the other project accepts, and checks new values against the fields of that project', async () => {
  const [from, to] = [await project(), await project()]
  for (const [key, type] of Object.entries({ same: 'text', other: 'text', date: 'text', gone: 'number' }))
    await add(from, key, type)
  await add(from, 'size', 'choice', { options: ['small', 'large'] })
  for (const [key, type] of Object.entries({ same: 'text', date: 'date', more: 'number' }))
    await add(to, key, type)
  await add(to, 'size', 'choice', { options: ['large'] })
  const fields = { same: 'a', other: 'b', date: '2027-01-01', gone: 1 }
  const [one, two] = [
    await create(from, { fields: { ...fields, size: 'large' } }),
    await create(from, { fields: { ...fields, size: 'small' } }),
  ]
  expectError(
    await editor.patch(`/tasks/${one.id}`, { projectId: to, fields: { other: 'c' } }),
    400,
    /fields.other/,
  )
  const moved = await editor.patch(`/tasks/${one.id}`, { projectId: to, fields: { more: 2 } })
  expect((moved.body as TaskWithFields).fields).toEqual({ same: 'a', size: 'large', more: 2 })
  await editor.patch(`/tasks/${two.id}`, { projectId: to })
  expect((await read(two.id)).fields).toEqual({ same: 'a' })
  expect(await faultsOf(sql)).toEqual([])
})

test('an undo restores all values as they were, unless the values changed later', async () => {
  const projectId = await project()
  for (const key of ['a', 'b']) await add(projectId, key)
  const task = await create(projectId, { fields: { a: '1' } })
  await patch(task.id, { b: '2' })
  const seq = await versionOf(admin, projectId)
  await patch(task.id, { a: '3' })
  const undo = (one: number) => editor.post(`/projects/${projectId}/undo`, { seq: one })
  expectError(await undo(seq), 409, /fields changed since/)
  for (const one of [seq + 1, seq]) expect((await undo(one)).status).toBe(200)
  expect((await read(task.id)).fields).toEqual({ a: '1' })
  await editor.delete(`/tasks/${task.id}`)
  await undo(await versionOf(admin, projectId))
  expect((await read(task.id)).fields).toEqual({ a: '1' })
  expect(await faultsOf(sql)).toEqual([])
})

test('a batch creates fields and sets their values, and "was" compares the whole object', async () => {
  const projectId = await project()
  await add(projectId, 'a')
  const task = await create(projectId, { fields: { a: '1' } })
  const batch = (...operations: object[]) =>
    admin.post(`/projects/${projectId}/batch?return=full`, { operations })
  const update = { op: 'task.update', id: task.id }
  expectError(
    await batch({ ...update, was: { fields: {} }, title: 'N' }),
    409,
    /differs from "was" in: fields/,
  )
  const { body } = await batch(
    { op: 'field.create', key: 'b', name: 'B', type: 'number' },
    { ...update, was: { fields: { a: '1' } }, fields: { b: 2 } },
  )
  const { results } = body as never as { results: TaskWithFields[] }
  expect(results[1]!.fields).toEqual({ a: '1', b: 2 })
})

test('PUT with an external id merges values too', async () => {
  const projectId = await project()
  for (const key of ['a', 'b']) await add(projectId, key)
  const put = (fields: object) =>
    editor.call('PUT', `/projects/${projectId}/tasks/external/X-1`, { title: 'T', fields })
  expect((await put({ a: '1' })).status).toBe(201)
  const { body } = await put({ b: '2' })
  expect((body as TaskWithFields).fields).toEqual({ a: '1', b: '2' })
})
