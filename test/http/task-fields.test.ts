import { expectError, make, openProject, openTeam, upTo, versionOf } from '../kit.ts'
import type { Answer, Body } from '../kit.ts'

type Valued = Body & { fields: Record<string, unknown> }

const { people, admin, editor, viewer } = await openTeam()
const project = () => openProject(people)
const listOf = (projectId: string) => `/projects/${projectId}/fields`
const add = (projectId: string, key: string, type = 'text', options?: string[]) =>
  make(admin, listOf(projectId), { key, name: key, type, ...(options && { options }) })
const create = (projectId: string, fields: object = {}) =>
  make(editor, '/tasks', { title: 'T', projectId, fields })
const valuesIn = ({ body }: Pick<Answer, 'body'>) => (body as Valued).fields
const read = async (id: string) => valuesIn(await viewer.get(`/tasks/${id}`))

const choice = { type: 'choice', options: ['a'] }
const invalid: [body: object, message: RegExp][] = [
  [{ key: 'Size' }, /^key must be a text of 1 to 40 characters from a-z/],
  [{ key: '1a' }, /^key must/],
  [{ key: 'a'.repeat(41) }, /^key must/],
  [{ type: 'money' }, /^type must be one of text, number, boolean, date, choice/],
  [{ type: 'choice' }, /^options must be a list/],
  [{ options: ['a'] }, /^options must be a list/],
  [{ ...choice, options: [] }, /^options must be a list of 1 to 100/],
  [{ ...choice, options: ['a', ' a'] }, /^options must/],
  [{ ...choice, options: ['a'.repeat(101)] }, /^options must/],
  [{ ...choice, options: upTo(101).map((n) => `o${n}`) }, /^options must/],
]

test('rejects an invalid key, type and options, and more than 50 values', async () => {
  const projectId = await project()
  for (const [body, message] of invalid)
    expectError(
      await admin.post(listOf(projectId), { key: 'a', name: 'A', type: 'text', ...body }),
      400,
      message,
    )
  const fields = Object.fromEntries(upTo(51).map((n) => [`k${n}`, 1]))
  expectError(
    await editor.post('/tasks', { title: 'T', projectId, fields }),
    400,
    /^fields must be an object/,
  )
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
      const patched = valuesIn(await editor.patch(`/tasks/${id}`, { fields: {} }))
      expect([old, type, await read(id), patched]).toEqual([old, type, shown, shown])
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
      await editor.post(`/projects/${projectId}/undo`, { seq: version + 2 }),
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
