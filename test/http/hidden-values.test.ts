import { expectError, faultsOf, make, versionOf } from '../kit.ts'
import { openFieldsScene, type TaskWithFields } from './fields-scene.ts'

const { project, add, create, read, patch, admin, editor, viewer, sql } = await openFieldsScene()

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
