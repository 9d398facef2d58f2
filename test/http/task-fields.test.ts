import { anId, aTimestamp, expectError, expectResponse, faultsOf, make, openProject } from '../kit.ts'
import { openTeam, versionOf } from '../kit.ts'
import type { Body } from '../kit.ts'

const { people, admin, editor, viewer, sql } = await openTeam()
const project = () => openProject(people)
const listOf = (projectId: string) => `/projects/${projectId}/fields`
const add = (projectId: string, key: string, type = 'text', more: object = {}) =>
  make(admin, listOf(projectId), { key, name: key, type, ...more })

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
