import { faultsOf, make, makeProjects, openPair, register, runBatch, statuses, upTo } from '../kit.ts'
import { unreachableUrl, versionOf } from '../kit.ts'
import type { Answer, Body, Client } from '../kit.ts'

const { atA, atB, sql } = await openPair()
const both = [atA, atB]
const either = (n: number) => both[n % 2]!
afterEach(async () => expect(await faultsOf(sql)).toEqual([]))

/** Sends writes at both processes at the same time, and returns how many got each status. */
const race = async (count: number, write: (client: Client, n: number) => Promise<Answer>) =>
  statuses(await Promise.all(upTo(count).map((n) => write(either(n), n))))

async function openProject(operations: object[] = []) {
  const { id } = await make(atA, '/projects', { name: 'P' })
  const rows = operations.length > 0 ? await runBatch(atA, id, operations) : []
  return { id, path: `/projects/${id}`, ids: rows.map((row) => row.id) }
}
const tasks = (count: number) => upTo(count).map((n) => ({ op: 'task.create', title: `T${n}` }))
const labels = (count: number) => upTo(count).map((n) => ({ op: 'label.create', name: `L${n}` }))
const openTask = async () => `/tasks/${(await openProject(tasks(1))).ids[0]}`
const labelsOf = async (id: string) =>
  ((await atB.get(`/tasks/${id}`)).body as Body & { labelIds: string[] }).labelIds.toSorted()

test('changes of different fields of one task are all stored', async () => {
  const path = await openTask()
  const texts = [{ title: 'Title' }, { description: 'Words' }, { dueDate: '2030-01-01T00:00:00.000Z' }]
  const changes = [...texts, { priority: 'HIGH' }, { status: 'DONE' }, { assigneeId: atA.id }]
  expect(await race(6, (client, n) => client.patch(path, changes[n - 1]))).toEqual({ 200: 6 })
  expect((await atB.get(path)).body).toMatchObject(Object.assign({}, ...changes))
})

test.each([50, 51])('each of %d toggles takes effect once', async (count) => {
  const path = await openTask()
  const { id } = await make(atA, `${path}/subtasks`, { title: 'Flip' })
  const toggle = (client: Client) => client.patch(`/tasks/subtasks/${id}/toggle`)
  expect(await race(count, toggle)).toEqual({ 200: count })
  expect((await atA.get(`${path}/subtasks`)).body[0]!.completed).toBe(count % 2 === 1)
  const events = await sql`select from events where type = 'subtask.toggled' and entity_id = ${id}`
  expect(events).toHaveLength(count)
})

test('of invitations and registrations of one user, one succeeds', async () => {
  const [{ path }, { email, id }] = [await openProject(), await register(atB)]
  const invite = (client: Client) => client.post(`${path}/members/invite`, { email, role: 'EDITOR' })
  expect(await race(20, invite)).toEqual({ 201: 1, 409: 19 })
  expect((await atB.get(`${path}/members`)).body.map(({ userId }) => userId)).toEqual([id])
  const account = { name: 'Twin', email: `twin-${id}@example.com`, password: 'secret-1' }
  const signUp = (client: Client) => client.as().post('/auth/register', account)
  expect(await race(8, signUp)).toEqual({ 201: 1, 409: 7 })
})

test('of deletions of a task or a project, one succeeds', async () => {
  const { id, path, ids } = await openProject(tasks(1))
  for (const one of [`/tasks/${ids[0]}`, path])
    expect(await race(20, (client) => client.delete(one))).toEqual({ 200: 1, 404: 19 })
  const jobs = await sql`select from outbox where project_id = ${id} and name = 'purge-project'`
  expect(jobs).toHaveLength(1)
})

test('a write after the deletion of its project stores no row', async () => {
  const { id, path } = await openProject()
  const [created, deleted] = await Promise.all([
    race(40, (client, n) => client.post('/tasks', { title: `Late ${n}`, projectId: id })),
    atB.delete(path),
  ])
  expect(deleted.status).toBe(200)
  const { 201: before = 0, 404: after = 0 } = created
  expect(before + after).toBe(40)
  expect(await sql`select from tasks where project_id = ${id}`).toHaveLength(before)
  const last = await sql`select type from events where project_id = ${id} order by seq desc limit 1`
  expect(last).toMatchObject([{ type: 'project.deleted' }])
})

test('additions and removals of labels of one task are all stored', async () => {
  const { id: projectId, ids } = await openProject(labels(50))
  const { id } = await make(atA, '/tasks', { title: 'T', projectId, labelIds: ids.slice(0, 25) })
  const edit = (client: Client, n: number) =>
    client.patch(`/tasks/${id}`, { [n <= 25 ? 'removeLabelIds' : 'addLabelIds']: [ids[n - 1]] })
  expect(await race(50, edit)).toEqual({ 200: 50 })
  expect(await labelsOf(id)).toEqual(ids.slice(25).toSorted())
})

test('of creations and renames of labels to one name, one succeeds', async () => {
  const { path, ids } = await openProject(labels(10))
  const create = (client: Client, n: number) => client.post(`${path}/labels`, { name: n % 3 ? 'Bug' : 'bUG' })
  expect(await race(10, create)).toEqual({ 201: 1, 409: 9 })
  const rename = (client: Client, n: number) => client.patch(`/labels/${ids[n - 1]}`, { name: 'New' })
  expect(await race(10, rename)).toEqual({ 200: 1, 409: 9 })
})

test('moves into one project create a missing label once', async () => {
  const sources = await Promise.all(upTo(4).map(() => openProject(labels(2))))
  const taskIds = await Promise.all(
    sources.map(
      async ({ id: projectId, ids }) =>
        (await make(atA, '/tasks', { title: 'T', projectId, labelIds: ids })).id,
    ),
  )
  const { id: projectId, path } = await openProject()
  const move = (client: Client, n: number) => client.patch(`/tasks/${taskIds[n - 1]}`, { projectId })
  expect(await race(4, move)).toEqual({ 200: 4 })
  expect((await atB.get(`${path}/labels`)).body.map(({ name }) => name).sort()).toEqual(['L1', 'L2'])
  expect(new Set((await Promise.all(taskIds.map(labelsOf))).flat()).size).toBe(2)
})

test('no task shows a label that is deleted while clients add it to tasks', async () => {
  const { ids } = await openProject([...labels(1), ...tasks(12)])
  const [label, ...taskIds] = ids as [string, ...string[]]
  const [deletion, added] = await Promise.all([
    atB.delete(`/labels/${label}`),
    race(12, (client, n) => client.patch(`/tasks/${taskIds[n - 1]}`, { addLabelIds: [label] })),
  ])
  expect(deletion.status).toBe(200)
  expect(Object.keys(added).every((status) => status === '200' || status === '400')).toBe(true)
  expect((await Promise.all(taskIds.map(labelsOf))).flat()).toEqual([])
})

test.each([2, 3, 12, 40])('of %d changes that form a cycle of blockers, the last gets 409', async (size) => {
  const { ids } = await openProject(tasks(size))
  const messages: string[] = []
  const block = async (client: Client, n: number) => {
    const answer = await client.patch(`/tasks/${ids[n - 1]}`, { addBlockedByIds: [ids[n % size]!] })
    if (answer.status === 409) messages.push(answer.body.message)
    return answer
  }
  expect(await race(size, block)).toEqual({ 200: size - 1, 409: 1 })
  expect(messages[0]!.match(/#\d+ "T\d+"/g)).toHaveLength(Math.min(size + 1, 21))
})

type Task = Body & { fields: Record<string, number> }
const fields = (count: number) => upTo(count).map((n) => ({ key: `k${n}`, name: `N${n}`, type: 'number' }))

async function openFields(count: number) {
  const project = await openProject()
  const made = await Promise.all(fields(count).map((field) => make(atA, `${project.path}/fields`, field)))
  const values = Object.fromEntries(upTo(count).map((n) => [`k${n}`, n]))
  return { ...project, fieldIds: made.map(({ id }) => id), values }
}

test('changes of different values of one task are all stored', async () => {
  const { id: projectId, values } = await openFields(40)
  const { id } = await make(atA, '/tasks', { title: 'T', projectId })
  const change = (client: Client, n: number) => client.patch(`/tasks/${id}`, { fields: { [`k${n}`]: n } })
  expect(await race(40, change)).toEqual({ 200: 40 })
  expect(((await atB.get(`/tasks/${id}`)).body as Task).fields).toEqual(values)
})

test('concurrent creations of fields and of webhooks keep keys unique and the limits', async () => {
  const { id, path } = await openProject()
  const addField = (client: Client, n: number) =>
    client.post(`${path}/fields`, { key: `k${n % 60}`, name: 'N', type: 'text' })
  expect(await race(120, addField)).toEqual({ 201: 50, 409: 70 })
  const { body } = await atA.get(`${path}/fields`)
  expect(new Set(body.map((field) => (field as Body & { key: string }).key)).size).toBe(50)
  const addWebhook = (client: Client) => client.post(`${path}/webhooks`, { url: unreachableUrl })
  expect(await race(120, addWebhook)).toEqual({ 201: 100, 409: 20 })
  expect(await sql`select distinct slot from webhooks where project_id = ${id}`).toHaveLength(100)
})

test('after the response to a deletion or undo of a field, no process shows the other state', async () => {
  const { id: projectId, path, fieldIds, values } = await openFields(2)
  const { id } = await make(atA, '/tasks', { title: 'T', projectId, fields: values })
  const shown = () =>
    Promise.all(
      both.flatMap((client) => [
        client.get(`/tasks/${id}`).then(({ body }) => (body as Task).fields),
        client.get(`/tasks?projectId=${projectId}`).then(({ body }) => (body[0] as Task).fields),
      ]),
    )
  for (const n of upTo(10)) {
    await shown()
    expect((await either(n).delete(`/fields/${fieldIds[0]}`)).status).toBe(200)
    expect(await shown()).toEqual(Array(4).fill({ k2: 2 }))
    const seq = await versionOf(atA, projectId)
    expect((await either(n + 1).post(`${path}/undo`, { seq })).status).toBe(200)
    expect(await shown()).toEqual(Array(4).fill(values))
  }
})

test('while a view changes, both processes return the tasks that its query selects', async () => {
  const { path } = await openProject(
    ['TODO', 'DONE'].map((status) => ({ op: 'task.create', title: status, status })),
  )
  const view = await make(atA, `${path}/views`, { name: 'V', query: { status: 'TODO' } })
  const read = async (client: Client) => {
    const { headers, body } = await client.get(`/views/${view.id}/tasks`)
    return [headers.get('etag')!, body.map(({ title }) => title).join()] as const
  }
  const seen = new Map<string, string>()
  for (const n of upTo(20)) {
    const status = n % 2 ? 'DONE' : 'TODO'
    const reading = Promise.all(upTo(8).map((one) => read(either(one))))
    await either(n).patch(`/views/${view.id}`, { query: { status } })
    await reading
    for (const [etag, titles] of await Promise.all(both.map(read))) {
      expect([titles, seen.get(etag) ?? titles]).toEqual([status, titles])
      seen.set(etag, titles)
    }
  }
})

test('a task that concurrent requests move between two projects is in exactly one of them', async () => {
  const { ids } = await openProject(tasks(1))
  const targets = (await makeProjects(atA, 2)) as [string, string]
  const move = (client: Client, n: number) =>
    client.patch(`/tasks/${ids[0]}`, { projectId: targets[n % 4 < 2 ? 0 : 1] })
  expect(await race(40, move)).toEqual({ 200: 40 })
  const lists = await Promise.all(targets.map((id) => atB.get(`/tasks?projectId=${id}`)))
  expect(lists.flatMap(({ body }) => body.map(({ id }) => id))).toEqual(ids)
})
