import { expectError, expectResponse, faultsOf, make, openProject, openTeam, versionOf } from '../kit.ts'
import type { Answer, Body } from '../kit.ts'
import { batchResult } from './batch-scene.ts'

type Valued = Body & { fields: Record<string, unknown> }

const { people, admin, editor, viewer, sql } = await openTeam()
const project = () => openProject(people)
const listOf = (projectId: string) => `/projects/${projectId}/fields`
const add = (projectId: string, key: string, type = 'text', options?: string[]) =>
  make(admin, listOf(projectId), { key, name: key, type, ...(options && { options }) })
const addAll = async (projectId: string, types: Record<string, string>) => {
  for (const [key, type] of Object.entries(types)) await add(projectId, key, type)
}
const create = (projectId: string, fields: object = {}) =>
  make(editor, '/tasks', { title: 'T', projectId, fields })
const valuesIn = ({ body }: Pick<Answer, 'body'>) => (body as Valued).fields
const read = async (id: string, query = '') => valuesIn(await viewer.get(`/tasks/${id}${query}`))
const patch = (id: string, fields: object, headers = {}) => editor.patch(`/tasks/${id}`, { fields }, headers)
const undo = (projectId: string, seq: number, by = admin) => by.post(`/projects/${projectId}/undo`, { seq })

const choice = { type: 'choice', options: ['a'] }
const manyOptions = Array.from({ length: 101 }, (_, n) => `o${n}`)
const invalid: [body: object, message: RegExp][] = [
  [{ key: 'Size' }, /^key must be a text of 1 to 40 characters from a-z/],
  [{ key: '1a' }, /^key must/],
  [{ key: 'a'.repeat(41) }, /^key must/],
  [{ type: 'money' }, /^type must be one of text, number, boolean, date, choice/],
  [{ type: 'choice' }, /^options is required/],
  [{ options: ['a'] }, /^options must be absent or null/],
  [{ ...choice, options: [] }, /^options must be a list of 1 to 100/],
  [{ ...choice, options: ['a', ' a'] }, /^options must/],
  [{ ...choice, options: ['a'.repeat(101)] }, /^options must/],
  [{ ...choice, options: manyOptions }, /^options must/],
]

test('rejects an invalid key, type and options; an update ignores key and type', async () => {
  const projectId = await project()
  for (const [body, message] of invalid)
    expectError(
      await admin.post(listOf(projectId), { key: 'a', name: 'A', type: 'text', ...body }),
      400,
      message,
    )
  const [text, size] = [await add(projectId, 'a'), await add(projectId, 'b', 'choice', ['x'])]
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
  expectError(await undo(projectId, seq), 409, taken)
  await admin.delete(`/fields/${second.id}`)
  expectError(await undo(projectId, seq, editor), 403, /ADMIN/)
  expect((await undo(projectId, seq)).status).toBe(200)
  expectResponse(await viewer.get(listOf(projectId)), 200, [first])
})

test('tasks have values for the fields of their project, and a change keeps the other values', async () => {
  const projectId = await project()
  await addAll(projectId, { note: 'text', count: 'number', on: 'boolean', at: 'date' })
  await add(projectId, 'size', 'choice', ['small', 'large'])
  const plain = await create(projectId)
  const fields = { note: ' a ', count: 1.5, on: false, at: '2028-02-29', size: 'small' }
  const task = (await create(projectId, fields)) as Valued
  expect([(plain as Valued).fields, task.fields]).toEqual([{}, { ...fields, note: 'a' }])
  const changed = await patch(task.id, { count: -0, note: null })
  expect(valuesIn(changed)).toEqual({ count: 0, on: false, at: '2028-02-29', size: 'small' })
  const now = await viewer.get(`/tasks/${task.id}`)
  expect([now.text, now.headers.get('etag')]).toEqual([changed.text, changed.headers.get('etag')])
  expectResponse(await viewer.get(`/tasks?projectId=${projectId}`), 200, [plain, changed.body])
  const same = await patch(task.id, { size: 'small', note: '' })
  expect(same.headers.get('etag')).toBe(now.headers.get('etag'))
  const { body: events } = await viewer.get(`/tasks/${task.id}/history`)
  expect(events[0]).toMatchObject({ before: { fields: task.fields }, after: { fields: valuesIn(changed) } })
  expect(valuesIn(await patch(task.id, { count: null, on: null, at: null, size: null }))).toEqual({})
  const put = (values: object) =>
    editor.call('PUT', `/projects/${projectId}/tasks/external/X-1`, { title: 'T', fields: values })
  expect((await put({ note: '1' })).status).toBe(201)
  expect(valuesIn(await put({ count: 2 }))).toEqual({ note: '1', count: 2 })
  expect(await faultsOf(sql)).toEqual([])
})

test('an unknown key, a wrong type or choice, and values that are not an object get 400', async () => {
  const projectId = await project()
  await add(projectId, 'size', 'choice', ['small'])
  await add(projectId, 'count', 'number')
  const { id } = await create(projectId)
  const many = Object.fromEntries(Array.from({ length: 51 }, (_, n) => [`k${n}`, 1]))
  const messages: [unknown, string | RegExp][] = [
    [{ sise: 'small' }, 'fields.sise must be the key of a field of the project'],
    [{ size: 'large' }, 'fields.size must be one of the options of the field'],
    [{ count: '1' }, 'fields.count must be a number'],
    [{ count: {} }, 'fields.count must be a number'],
    [{ constructor: 1 }, 'fields.constructor must be the key of a field of the project'],
    [[1], /^fields must be an object with at most 50 values/],
    [null, /^fields must be an object/],
    [many, /^fields must be an object/],
  ]
  for (const [fields, message] of messages) {
    expectError(await editor.patch(`/tasks/${id}`, { fields }), 400, message)
    expectError(await editor.post('/tasks', { title: 'T', projectId, fields }), 400, message)
  }
})

test('a move keeps the values that the other project accepts, and checks new values against its fields', async () => {
  const [from, to] = [await project(), await project()]
  await addAll(from, { same: 'text', other: 'text', date: 'text', gone: 'number' })
  await add(from, 'size', 'choice', ['small', 'large'])
  await addAll(to, { same: 'text', date: 'date', more: 'number' })
  await add(to, 'size', 'choice', ['large'])
  const fields = { same: 'a', other: 'b', date: '2027-01-01', gone: 1 }
  const one = await create(from, { ...fields, size: 'large' })
  const two = await create(from, { ...fields, size: 'small' })
  const move = (id: string, values: object) => editor.patch(`/tasks/${id}`, { projectId: to, fields: values })
  expectError(await move(one.id, { other: 'c' }), 400, /fields.other/)
  expect(valuesIn(await move(one.id, { more: 2 }))).toEqual({ same: 'a', size: 'large', more: 2 })
  await move(two.id, {})
  expect(await read(two.id)).toEqual({ same: 'a' })
  expect(await faultsOf(sql)).toEqual([])
})

test('a batch creates fields and sets their values, and "was" compares the whole object', async () => {
  const projectId = await project()
  await add(projectId, 'a')
  const { id } = await create(projectId, { a: '1' })
  const batch = (...operations: object[]) =>
    admin.post(`/projects/${projectId}/batch?return=full`, { operations })
  const update = { op: 'task.update', id, fields: { b: 2 } }
  const wrong = await batch({ ...update, was: { fields: {} }, fields: { a: '2' } })
  expectError(wrong, 409, /differs from "was" in: fields/)
  const field = { op: 'field.create', key: 'b', name: 'B', type: 'number' }
  const { results } = batchResult(await batch(field, { ...update, was: { fields: { a: '1' } } }))
  expect(valuesIn({ body: results[1]! })).toEqual({ a: '1', b: 2 })
})

test('the values of a deleted field disappear at once from every response, and an undo shows them again', async () => {
  const projectId = await project()
  const count = await add(projectId, 'count', 'number')
  await add(projectId, 'note')
  const task = await create(projectId, { count: 3, note: 'a' })
  const only = await create(projectId, { count: 1 })
  const list = async (query = '') =>
    (await viewer.get(`/tasks?projectId=${projectId}${query}`)).body.map((body) => valuesIn({ body }))
  const etagOf = async () => (await viewer.get(`/tasks/${task.id}`)).headers.get('etag')!
  const [version, before] = [await versionOf(admin, projectId), await etagOf()]
  await admin.delete(`/fields/${count.id}`)
  expect(await list()).toEqual([{ note: 'a' }, {}])
  expect([await read(task.id), await read(only.id)]).toEqual([{ note: 'a' }, {}])
  const after = await etagOf()
  expect(after).not.toBe(before)
  const unchanged = await patch(task.id, { note: 'a' }, { 'if-match': before })
  expect([unchanged.headers.get('etag'), valuesIn(unchanged)]).toEqual([after, { note: 'a' }])
  expectError(await patch(task.id, { count: null }), 400)
  for (const [seq, shown] of [
    [version, { count: 3, note: 'a' }],
    [version + 1, { note: 'a' }],
  ] as const) {
    expect((await list(`&asOf=${seq}`))[0]).toEqual(shown)
    expect(await read(task.id, `?asOf=${seq}`)).toEqual(shown)
  }
  const text = await add(projectId, 'count', 'text')
  expect(await read(task.id)).toEqual({ note: 'a' })
  await patch(task.id, { note: 'b' })
  await admin.delete(`/fields/${text.id}`)
  expect((await undo(projectId, version + 1)).status).toBe(200)
  expect(await list()).toEqual([{ count: 3, note: 'b' }, { count: 1 }])
  expect(await read(task.id, `?asOf=${version + 2}`)).toEqual({ note: 'a' })
  expect(await faultsOf(sql)).toEqual([])
})

test('a new field with the key of a deleted field shows only values of its own type', async () => {
  const projectId = await project()
  const types = { text: '2027-01-01', number: 1, boolean: true, date: '2027-01-01', choice: 'a' }
  const addOf = (key: string, type: string) =>
    add(projectId, key, type, type === 'choice' ? ['a', '2027-01-01'] : undefined)
  for (const [old, value] of Object.entries(types)) {
    const field = await addOf(old, old)
    const { id } = await create(projectId, { [old]: value })
    await admin.delete(`/fields/${field.id}`)
    for (const type of Object.keys(types)) {
      const later = await addOf(old, type)
      const shown = type === old ? { [old]: value } : {}
      expect([old, type, await read(id), valuesIn(await patch(id, {}))]).toEqual([old, type, shown, shown])
      await admin.delete(`/fields/${later.id}`)
    }
  }
})

test.each(['removed option', 'value of the former type'])(
  'a %s is in no response, matches no filter and moves to no other project',
  async (what) => {
    const [projectId, other] = [await project(), await project()]
    const options = ['small', 'Hidden']
    const size = await add(projectId, 'size', 'choice', options)
    await add(other, 'size', 'choice', options)
    const { id } = await create(projectId, { size: 'Hidden' })
    const isRemoved = what === 'removed option'
    if (isRemoved) await admin.patch(`/fields/${size.id}`, { options: ['small'] })
    else {
      await admin.delete(`/fields/${size.id}`)
      await add(projectId, 'size', 'text')
    }
    const version = await versionOf(admin, projectId)
    const [tasks, path] = [`/tasks?projectId=${projectId}`, `/tasks/${id}`]
    const view = await make(admin, `/projects/${projectId}/views`, { name: 'V', query: {} })
    const operations = [{ op: 'task.update', id, was: { fields: {} }, priority: 'HIGH' }]
    const answers = [
      await editor.patch(path, { title: 'Other' }),
      await editor.post(`${path}/claim`, { leaseSeconds: 60 }),
      await editor.post(`/projects/${projectId}/batch?return=full`, { operations }),
      await undo(projectId, version + 2, editor),
    ]
    const reads = [path, tasks, `${path}?asOf=${version}`, `${tasks}&asOf=${version}`, `${tasks}&q=Other`]
    const files = ['docket', 'ndjson', 'csv'].map(
      (format) => `/projects/${projectId}/export?format=${format}`,
    )
    const others = [`/views/${view.id}/tasks`, `/projects/${projectId}/events?after=${version}`]
    for (const one of [...reads, ...files, ...others]) answers.push(await viewer.get(one))
    const wrong = answers.filter(({ status, text }) => status !== 200 || text.includes('Hidden'))
    expect(wrong.map(({ text }) => text)).toEqual([])
    expect((await viewer.get(`${tasks}&field.size=Hidden`)).text).not.toContain(id)
    if (isRemoved) {
      await admin.patch(`/fields/${size.id}`, { options: ['Hidden', 'small'] })
      expect(await read(id)).toEqual({ size: 'Hidden' })
      await admin.patch(`/fields/${size.id}`, { options: ['small'] })
    }
    expect((await editor.patch(path, { projectId: other })).text).not.toContain('Hidden')
    expect(await read(id)).toEqual({})
  },
)
