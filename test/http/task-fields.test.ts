import { anId, aTimestamp, expectError, expectResponse, faultsOf, make, openProject } from '../kit.ts'
import { openTeam, versionOf } from '../kit.ts'
import type { Body } from '../kit.ts'

type TaskWithFields = Body & { fields: Record<string, unknown> }

/** Opens a service and a team, with helpers for fields and their values. */
async function openFieldsScene() {
  const team = await openTeam()
  const { people, admin, editor, viewer } = team
  return {
    ...team,
    project: () => openProject(people),
    add: (projectId: string, key: string, type = 'text', more: object = {}) =>
      make(admin, `/projects/${projectId}/fields`, { key, name: key, type, ...more }),
    create: (projectId: string, body: object = {}) =>
      make(editor, '/tasks', { title: 'T', projectId, ...body }) as Promise<TaskWithFields>,
    read: async (id: string, query = '') => (await viewer.get(`/tasks/${id}${query}`)).body as TaskWithFields,
    patch: (id: string, fields: object, headers = {}) => editor.patch(`/tasks/${id}`, { fields }, headers),
  }
}

const { project, add, admin, editor, viewer, sql, create, read, patch } = await openFieldsScene()
const listOf = (projectId: string) => `/projects/${projectId}/fields`

test('a field is created, changed, listed now and at a version, and deleted', async () => {
  const projectId = await project()
  const before = await versionOf(admin, projectId)
  const body = { key: 'size', name: ' Size ', type: 'choice', options: [' small ', 'large'] }
  const created = await admin.post(listOf(projectId), body)
  const options = ['small', 'large']
  const field = {
    id: anId,
    projectId,
    key: 'size',
    name: 'Size',
    type: 'choice',
    options,
    createdAt: aTimestamp,
  }
  expectResponse(created, 201, field)
  const { id } = created.body
  const changed = await admin.patch(`/fields/${id}`, { ...created.body, name: 'Width', options: ['wide'] })
  expectResponse(changed, 200, { ...field, name: 'Width', options: ['wide'] })
  const same = await admin.patch(`/fields/${id}`, { name: 'Width' })
  expect(same.headers.get('etag')).toBe(changed.headers.get('etag'))
  expectResponse(await viewer.get(listOf(projectId)), 200, [changed.body])
  expectResponse(await admin.delete(`/fields/${id}`), 200, { message: 'Field deleted successfully' })
  expectError(await admin.patch(`/fields/${id}`, { name: 'N' }), 404, 'Field not found')
  expectResponse(await viewer.get(listOf(projectId)), 200, [])
  for (const [version, rows] of [[], [created.body], [changed.body], []].entries())
    expectResponse(await viewer.get(`${listOf(projectId)}?asOf=${before + version}`), 200, rows)
  const { body: events } = await viewer.get(`/projects/${projectId}/events?after=${before}`)
  const types = (events as never as { type: string }[]).map(({ type }) => type)
  expect(types).toEqual(['field.created', 'field.updated', 'field.deleted'])
  expect(await faultsOf(sql)).toEqual([])
})

const choice = { type: 'choice', options: ['a'] }
const invalid: [string, object, string | RegExp][] = [
  ['a key in upper case', { key: 'Size' }, /^key must be a text of 1 to 40 characters from a-z/],
  ['a key that begins with a digit', { key: '1a' }, /^key must/],
  ['a key of 41 characters', { key: 'a'.repeat(41) }, /^key must/],
  ['an empty name', { name: ' ' }, /^name must/],
  ['an unknown type', { type: 'money' }, /^type must be one of text, number, boolean, date, choice/],
  ['no options of a choice', { type: 'choice' }, /^options is required/],
  ['options of a text', { options: ['a'] }, /^options must be absent or null/],
  ['an empty list of options', { ...choice, options: [] }, /^options must be a list of 1 to 100/],
  ['the same option twice', { ...choice, options: ['a', ' a'] }, /^options must/],
  ['an option of 101 characters', { ...choice, options: ['a'.repeat(101)] }, /^options must/],
  ['101 options', { ...choice, options: Array.from({ length: 101 }, (_, n) => `o${n}`) }, /^options must/],
]

test.each(invalid)('%s gets 400', async (_, body, message) => {
  const projectId = await project()
  const answer = await admin.post(listOf(projectId), { key: 'a', name: 'A', type: 'text', ...body })
  expectError(answer, 400, message)
})

test('an update rejects options unless the field is a choice, requires options of a choice, and ignores key and type', async () => {
  const projectId = await project()
  const [text, size] = [await add(projectId, 'a'), await add(projectId, 'b', 'choice', { options: ['x'] })]
  expectError(await admin.patch(`/fields/${text.id}`, { options: ['x'] }), 400, /^options must be absent/)
  expectError(await admin.patch(`/fields/${size.id}`, { options: null }), 400, /^options is required/)
  const answer = await admin.patch(`/fields/${text.id}`, { key: 'c', type: 'date', options: null })
  expectResponse(answer, 200, text)
})

test('a key is unique in its project, also after an undo, and free after the field is deleted', async () => {
  const projectId = await project()
  const first = await add(projectId, 'size')
  const taken = 'The project already has a field with the key size'
  const body = { key: 'size', name: 'S', type: 'date' }
  expectError(await admin.post(listOf(projectId), body), 409, taken)
  await add(await project(), 'size')
  await admin.delete(`/fields/${first.id}`)
  const seq = await versionOf(admin, projectId)
  const second = await make(admin, listOf(projectId), body)
  const undo = (one: number, by = admin) => by.post(`/projects/${projectId}/undo`, { seq: one })
  expectError(await undo(seq), 409, taken)
  await admin.delete(`/fields/${second.id}`)
  expectError(await undo(seq, editor), 403, /ADMIN/)
  expect((await undo(seq)).status).toBe(200)
  expectResponse(await viewer.get(listOf(projectId)), 200, [first])
})

test('a project has at most 50 fields, also in a batch', async () => {
  const projectId = await project()
  const fields = Array.from({ length: 51 }, (_, n) => ({ key: `k${n}`, name: `N${n}`, type: 'number' }))
  const batch = (some: object[]) =>
    admin.post(`/projects/${projectId}/batch`, {
      operations: some.map((one) => ({ op: 'field.create', ...one })),
    })
  expectError(await batch(fields), 409, 'operations[50]: A project has at most 50 fields')
  const { body } = await batch(fields.slice(0, 50))
  expect((body as never as { results: Body[] }).results).toHaveLength(50)
  expectError(await admin.post(listOf(projectId), fields[50]), 409, 'A project has at most 50 fields')
})

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

test('the values of a deleted field disappear at once from every response, and an undo shows them again', async () => {
  const projectId = await project()
  const count = await add(projectId, 'count', 'number')
  await add(projectId, 'note')
  const fields = { count: 3, note: 'a' }
  const task = await create(projectId, { fields })
  const only = await create(projectId, { fields: { count: 1 } })
  const list = async (query = '') =>
    ((await viewer.get(`/tasks?projectId=${projectId}${query}`)).body as never as TaskWithFields[]).map(
      (one) => one.fields,
    )
  const etagOf = async () => (await viewer.get(`/tasks/${task.id}`)).headers.get('etag')!
  const [version, before] = [await versionOf(admin, projectId), await etagOf()]
  await admin.delete(`/fields/${count.id}`)
  expect(await list()).toEqual([{ note: 'a' }, {}])
  expect([(await read(task.id)).fields, (await read(only.id)).fields]).toEqual([{ note: 'a' }, {}])
  const after = await etagOf()
  expect(after).not.toBe(before)
  const unchanged = await patch(task.id, { note: 'a' }, { 'if-match': before })
  expect([unchanged.headers.get('etag'), (unchanged.body as TaskWithFields).fields]).toEqual([
    after,
    { note: 'a' },
  ])
  expectError(await patch(task.id, { count: null }), 400)
  expect(await list(`&asOf=${version}`)).toEqual([fields, { count: 1 }])
  expect(await list(`&asOf=${version + 1}`)).toEqual([{ note: 'a' }, {}])
  expect((await read(task.id, `?asOf=${version}`)).fields).toEqual(fields)
  expect((await read(task.id, `?asOf=${version + 1}`)).fields).toEqual({ note: 'a' })
  const text = await add(projectId, 'count', 'text')
  expect((await read(task.id)).fields).toEqual({ note: 'a' })
  await patch(task.id, { note: 'b' })
  await admin.delete(`/fields/${text.id}`)
  expect((await admin.post(`/projects/${projectId}/undo`, { seq: version + 1 })).status).toBe(200)
  expect(await list()).toEqual([{ count: 3, note: 'b' }, { count: 1 }])
  expect((await read(task.id, `?asOf=${version + 2}`)).fields).toEqual({ note: 'a' })
  expect(await faultsOf(sql)).toEqual([])
})

test('a new field with the key of a deleted field shows only values of its own type', async () => {
  const projectId = await project()
  const types = { text: '2027-01-01', number: 1, boolean: true, date: '2027-01-01', choice: 'a' }
  const optionsOf = (type: string) => (type === 'choice' ? { options: ['a', '2027-01-01'] } : {})
  for (const [old, value] of Object.entries(types)) {
    const field = await add(projectId, old, old, optionsOf(old))
    const task = await create(projectId, { fields: { [old]: value } })
    await admin.delete(`/fields/${field.id}`)
    for (const type of Object.keys(types)) {
      const later = await add(projectId, old, type, optionsOf(type))
      const shown = type === old ? { [old]: value } : {}
      expect([old, type, (await read(task.id)).fields]).toEqual([old, type, shown])
      const unchanged = await patch(task.id, {})
      expect((unchanged.body as TaskWithFields).fields).toEqual(shown)
      await admin.delete(`/fields/${later.id}`)
    }
  }
})

test('a value is shown while it is an option of its field', async () => {
  const projectId = await project()
  const size = await add(projectId, 'size', 'choice', { options: ['small', 'large'] })
  const task = await create(projectId, { fields: { size: 'large' } })
  const set = (options: string[]) => admin.patch(`/fields/${size.id}`, { options })
  await set(['small'])
  expect((await read(task.id)).fields).toEqual({})
  await set(['large', 'small'])
  expect((await read(task.id)).fields).toEqual({ size: 'large' })
  const version = await versionOf(admin, projectId)
  expect((await read(task.id, `?asOf=${version - 1}`)).fields).toEqual({})
})

test.each(['removed option', 'value of the former type'])(
  'a %s is in no response, matches no filter and moves to no other project',
  async (what) => {
    const [projectId, other] = [await project(), await project()]
    const options = ['small', 'Hidden']
    const size = await add(projectId, 'size', 'choice', { options })
    await add(other, 'size', 'choice', { options })
    const { id } = await create(projectId, { fields: { size: 'Hidden' } })
    if (what === 'removed option') await admin.patch(`/fields/${size.id}`, { options: ['small'] })
    else {
      await admin.delete(`/fields/${size.id}`)
      await add(projectId, 'size', 'text')
    }
    const version = await versionOf(admin, projectId)
    const [tasks, path] = [`/tasks?projectId=${projectId}`, `/tasks/${id}`]
    const view = await make(admin, `/projects/${projectId}/views`, { name: 'V', query: {} })
    const exports = ['docket', 'ndjson', 'csv'].map(
      (format) => `/projects/${projectId}/export?format=${format}`,
    )
    const operations = [{ op: 'task.update', id, was: { fields: {} }, priority: 'HIGH' }]
    const answers = [
      await editor.patch(path, { title: 'Other' }),
      await editor.post(`${path}/claim`, { leaseSeconds: 60 }),
      await editor.post(`/projects/${projectId}/batch?return=full`, { operations }),
      await editor.post(`/projects/${projectId}/undo`, { seq: version + 2 }),
    ]
    const reads = [
      path,
      tasks,
      `${path}?asOf=${version}`,
      `${tasks}&asOf=${version}`,
      `/views/${view.id}/tasks`,
    ]
    const events = `/projects/${projectId}/events?after=${version}`
    for (const one of [...reads, ...exports, events, `${tasks}&q=Other`]) answers.push(await viewer.get(one))
    expect(
      answers.flatMap(({ status, text }) => (status === 200 && !/Hidden/.test(text) ? [] : text)),
    ).toEqual([])
    expect((await viewer.get(`${tasks}&field.size=Hidden`)).text).not.toContain(id)
    expect((await editor.patch(path, { projectId: other })).text).not.toContain('Hidden')
    expect((await read(id)).fields).toEqual({})
  },
)
