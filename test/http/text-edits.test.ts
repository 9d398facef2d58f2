import { at, expectError, make, makeToken, newId, openPair, openProject, register } from '../kit.ts'
import { registerTeam, statuses, upTo, withOneDatabase } from '../kit.ts'
import type { Answer, Body, Client, OpenApi } from '../kit.ts'

const pair = await openPair()
const people = { ...(await registerTeam(pair.atA.as())), owner: pair.atA }
const { owner, admin, editor, viewer } = people
const atB = at(editor, pair.b)
const projectId = await openProject(people)
const project = `/projects/${projectId}`
await admin.patch(project, { textEdits: 'if-match' })

const service = await make(owner, `${project}/service-accounts`, { name: 'CI', role: 'EDITOR' })
const tokens = `${project}/service-accounts/${service.id}/tokens`
const asService = owner.as((await makeToken(owner, { scopes: ['write'] }, tokens)).token)

type Task = Body & { externalId: string }
const newTask = async (fields: object = {}) =>
  (await make(editor, '/tasks', {
    ...{ projectId, title: 'Frame', description: 'In brass', externalId: newId() },
    ...fields,
  })) as Task
const etagOf = async (id: string) => (await viewer.get(`/tasks/${id}`)).headers.get('etag')!

type Write = (task: Task, fields: object, ifMatch?: string) => Promise<Answer>
type Request = (task: Task, fields: object) => [method: string, path: string, body: object]

const bySingle =
  (request: Request, by: Client = editor): Write =>
  (task, fields, ifMatch) =>
    by.call(...request(task, fields), ifMatch === undefined ? {} : { 'if-match': ifMatch })
const byBatch =
  (operationsOf: (task: Task, fields: object) => object[]): Write =>
  (task, fields, ifMatch) => {
    const [last, ...others] = operationsOf(task, fields).toReversed()
    return editor.post(`${project}/batch`, { operations: [...others, { ...last, ifMatch }] })
  }
const update = (id: string, fields: object) => ({ op: 'task.update', id, ...fields })
const patch: Request = ({ id }, fields) => ['PATCH', `/tasks/${id}`, fields]

/** The ways to change a text of an existing task. */
const ways: Record<string, Write> = {
  PATCH: bySingle(patch),
  'PATCH in another process': bySingle(patch, atB),
  'PATCH by a service account': bySingle(patch, asService),
  'PATCH of a row that was read': bySingle((task, fields) => patch(task, { ...task, ...fields })),
  'PATCH with a place': bySingle((task, fields) => patch(task, { ...fields, place: 'first' })),
  'PUT by the external id': bySingle(({ externalId }, fields) => [
    'PUT',
    `${project}/tasks/external/${externalId}`,
    fields,
  ]),
  'task.update in a batch': byBatch(({ id }, fields) => [update(id, fields)]),
  'task.upsert in a batch': byBatch(({ externalId }, fields) => [
    { op: 'task.upsert', externalId, ...fields },
  ]),
  'a batch with a change of the same task before': byBatch(({ id }, fields) => [
    update(id, { priority: 'LOW' }),
    update(id, fields),
  ]),
}

const required =
  /^(operations\[\d\]: )?This project changes the title or .* only with If-Match: read the task/
const changed = [
  { title: 'Wheel' },
  { description: null },
  { description: '  ' },
  { title: 'Wheel', description: 'In iron', status: 'DONE' },
]
const unchanged = [
  { title: '  Frame ' },
  { description: ' In brass\n' },
  { title: 'Frame', description: 'In brass', status: 'IN_PROGRESS' },
  { status: 'DONE', priority: 'HIGH', dueDate: '2030-01-01' },
]

test.each(Object.entries(ways))(
  '%s: only a changed title or description needs If-Match with an ETag, and gets the current one with 428',
  async (_, write) => {
    for (const fields of changed) {
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
    for (const fields of unchanged)
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

test('every operation of a batch accepts ifMatch', async () => {
  const api = (await editor.get('/../docs/json')).body as unknown as OpenApi
  const schemas = Object.entries(api.components.schemas).filter(([name]) => name.endsWith('Operation'))
  expect(schemas.length).toBeGreaterThan(25)
  for (const [name, schema] of schemas) expect([name, 'ifMatch' in schema.properties!]).toEqual([name, true])
})

const append = (id: string, text: string, by = editor) =>
  by.post(
    `/tasks/${id}/append`,
    { field: 'description', text },
    { 'idempotency-key': `${id} ${text}`.slice(0, 99) },
  )

test('an appended text leaves a description of at most 20,000 characters', async () => {
  const { id } = await newTask({ description: '🎡'.repeat(19_990) })
  expectError(await append(id, 'x'.repeat(20_001)), 400, /^text must be a text of 1 to 20000/)
  const tooLong = 'text must leave the description at most 20000 characters: send a shorter text'
  expectError(await append(id, 'x'.repeat(9)), 400, tooLong)
  expect((await append(id, 'x'.repeat(8))).status).toBe(200)
})

test('concurrent appends lose no text, and a repeat with its Idempotency-Key adds a text once', async () => {
  const { id } = await newTask({ description: null })
  const texts = upTo(20).map((n) => `Text ${n}`)
  const send = (text: string, n: number) => append(id, text, n % 2 ? editor : atB)
  expect(statuses(await Promise.all([...texts, ...texts].map(send)))).toEqual({ 200: 40 })
  const { description } = (await viewer.get(`/tasks/${id}`)).body
  expect(description!.split('\n\n').sort()).toEqual(texts.sort())
})
