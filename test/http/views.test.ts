import { expectError, make, nextPath, openProject, openTeam, unknownId, versionOf } from '../kit.ts'

const { people, owner, admin, editor, viewer, stranger } = await openTeam()
const project = () => openProject(people)
const add = (projectId: string, query: object) =>
  make(editor, `/projects/${projectId}/views`, { name: 'Mine', query })
const task = (projectId: string, title: string, body: object = {}) =>
  make(editor, '/tasks', { projectId, title, ...body })
const titles = async (path: string, caller = viewer) => {
  const { status, text, body } = await caller.get(path)
  expect([status, text]).toEqual([200, text])
  return body.map(({ title }) => title)
}

const invalid: [query: unknown, message: string | RegExp][] = [
  [{ status: 'OPEN' }, 'query.status must be one of TODO, IN_PROGRESS, DONE'],
  [{ status: 1 }, /^query.status must be one of/],
  [{ assigneeId: 'ada' }, 'query.assigneeId must be the id of a user, or "me"'],
  [{ stat: 'TODO' }, 'query.stat is not known here; did you mean status?'],
  [{ toString: 'x' }, /^query.toString is not known here/],
  [{ limit: '0' }, 'query.limit must be a whole number from 1 to 200'],
  [{ labels: 'x' }, /^query.labels must be ids of labels/],
  [{ 'field.size': 'x' }, 'query.field.size must name a field of the project'],
  [{ 'field.count': 'x' }, 'query.field.count must be a number'],
  [{ 'field.note.min': 'x' }, 'query.field.note.min must name a field of the type number or date'],
  ...[{ projectId: unknownId }, { cursor: 'WyJ4Il0' }, { asOf: '1' }].map((query): [object, string] => [
    query,
    `query.${Object.keys(query)[0]} is not allowed in a view`,
  ]),
  ['status=TODO', /^query must be an object with at most 20 parameters of the list of tasks$/],
  [
    Object.fromEntries(Array.from({ length: 21 }, (_, n) => [`field.k${n}`, '1'])),
    /^query must be an object/,
  ],
  [{ 'field.note': 'x'.repeat(4_000) }, 'query must have at most 4000 characters in names and values'],
]

test('a query is checked like a list of tasks, and the error names the parameter', async () => {
  const projectId = await project()
  for (const [key, type] of Object.entries({ note: 'text', count: 'number' }))
    await make(admin, `/projects/${projectId}/fields`, { key, name: key, type })
  const view = await add(projectId, { 'field.count.min': '2', 'field.note': 'a' })
  for (const [query, message] of invalid) {
    expectError(await editor.post(`/projects/${projectId}/views`, { name: 'V', query }), 400, message)
    expectError(await editor.patch(`/views/${view.id}`, { query }), 400, message)
  }
})

test('a view returns the same tasks as a list with its query, and the pages link to the view', async () => {
  const projectId = await project()
  for (let n = 0; n < 5; n++) await task(projectId, `T${n}`, { priority: n === 2 ? 'LOW' : 'HIGH' })
  await task(await project(), 'Elsewhere', { priority: 'HIGH' })
  const view = await add(projectId, { priority: 'HIGH', sort: '-createdAt', limit: '3' })
  const path = `/views/${view.id}/tasks`
  const first = await viewer.get(path)
  const list = await viewer.get(`/tasks?projectId=${projectId}&priority=HIGH&sort=-createdAt&limit=3`)
  expect(first.text).toBe(list.text)
  const next = nextPath(first.headers)!
  expect(next).toStartWith(`${path}?cursor=`)
  expect([await titles(next), await titles(`${path}?limit=1`)]).toEqual([['T0'], ['T4']])
  expect(await titles(nextPath((await viewer.get(`${path}?limit=1`)).headers)!)).toEqual(['T3'])
  expectError(await viewer.get(`${path}?limit=0`), 400, /^limit must be/)
  expectError(await viewer.get(`${path}?status=TODO`), 400)
})

test('the ETag of a view changes with the view and with its tasks', async () => {
  const projectId = await project()
  const one = await task(projectId, 'One')
  const view = await add(projectId, { status: 'TODO' })
  const path = `/views/${view.id}/tasks`
  const read = (etag: string) => viewer.get(path, { 'if-none-match': etag })
  let etag = (await viewer.get(path)).headers.get('etag')!
  const changes: [change: () => Promise<unknown>, shown: string[]][] = [
    [() => editor.patch(`/views/${view.id}`, { query: { status: 'DONE' } }), []],
    [() => editor.patch(`/tasks/${one.id}`, { status: 'DONE' }), ['One']],
    [() => editor.patch(`/views/${view.id}`, { query: {} }), ['One']],
    [() => task(projectId, 'Two'), ['One', 'Two']],
  ]
  for (const [change, shown] of changes) {
    expect((await read(etag)).status).toBe(304)
    await change()
    const answer = await read(etag)
    expect([answer.status, answer.body.map(({ title }) => title)]).toEqual([200, shown])
    etag = answer.headers.get('etag')!
  }
})

test('"me" in a view means the caller, and a view of a stranger or of a deleted project gets 404', async () => {
  const projectId = await project()
  for (const [name, { id }] of Object.entries({ editor, viewer }))
    await task(projectId, name, { assigneeId: id })
  const path = `/views/${(await add(projectId, { assigneeId: 'me' })).id}/tasks`
  for (const [name, caller] of Object.entries({ editor, viewer }))
    expect(await titles(path, caller)).toEqual([name])
  expect(await titles(path, admin)).toEqual([])
  const missing = [unknownId, 'x', projectId].map((id) => viewer.get(`/views/${id}/tasks`))
  for (const answer of [stranger.get(path), ...missing]) expectError(await answer, 404, 'View not found')
  await owner.delete(`/projects/${projectId}`)
  expectError(await viewer.get(path), 404, 'View not found')
})

test('a view with a deleted field gets 400, and works again after the undo', async () => {
  const projectId = await project()
  const field = await make(admin, `/projects/${projectId}/fields`, { key: 'size', name: 'S', type: 'number' })
  for (const size of [1, 2, 3]) await task(projectId, `T${size}`, { fields: { size } })
  const path = `/views/${(await add(projectId, { 'field.size.min': '2' })).id}/tasks`
  expect(await titles(path)).toEqual(['T2', 'T3'])
  await admin.delete(`/fields/${field.id}`)
  expectError(await viewer.get(path), 400, 'field.size.min must name a field of the project')
  await admin.post(`/projects/${projectId}/undo`, { seq: await versionOf(admin, projectId) })
  expect(await titles(path)).toEqual(['T2', 'T3'])
})
