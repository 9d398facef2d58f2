import { type Body, faultsOf, make, openPair, statuses, upTo } from '../kit.ts'

const { atA, atB, sql } = await openPair()
const either = (n: number) => (n % 2 ? atA : atB)

async function createProject(labels: number) {
  const { id: projectId } = await make(atA, '/projects', { name: 'P' })
  const operations = upTo(labels).map((n) => ({ op: 'label.create', name: `L${n}` }))
  if (labels > 0) await atA.post(`/projects/${projectId}/batch`, { operations })
  const ids = (await atA.get(`/projects/${projectId}/labels`)).body.map(({ id }) => id)
  return { projectId, ids }
}
const createTask = async (projectId: string, labelIds: string[] = []) =>
  (await make(atA, '/tasks', { title: 'T', projectId, labelIds })).id
const labelsOf = async (id: string) =>
  ((await atB.get(`/tasks/${id}`)).body as Body & { labelIds: string[] }).labelIds
const namesIn = async (projectId: string) =>
  (await atB.get(`/projects/${projectId}/labels`)).body.map(({ name }: Body) => name)

test('many writers at two processes add and remove labels of one task, and no change is lost', async () => {
  const { projectId, ids } = await createProject(50)
  const taskId = await createTask(projectId, ids.slice(0, 25))
  const changes = ids.map((id, n) => {
    const edit = n < 25 ? 'removeLabelIds' : 'addLabelIds'
    return either(n).patch(`/tasks/${taskId}`, { [edit]: [id] })
  })
  expect(statuses(await Promise.all(changes))).toEqual({ 200: 50 })
  expect((await labelsOf(taskId)).toSorted()).toEqual(ids.slice(25).toSorted())
  expect(await faultsOf(sql)).toEqual([])
})

test('if many writers at two processes create a label with one name, or rename a label to one name, one writer succeeds', async () => {
  const { projectId, ids } = await createProject(10)
  const path = `/projects/${projectId}/labels`
  const creations = upTo(10).map((n) => either(n).post(path, { name: n % 3 ? 'Bug' : 'bUG' }))
  expect(statuses(await Promise.all(creations))).toEqual({ 201: 1, 409: 9 })
  const renames = ids.map((id, n) => either(n).patch(`/labels/${id}`, { name: 'New' }))
  expect(statuses(await Promise.all(renames))).toEqual({ 200: 1, 409: 9 })
})

test('concurrent moves into one project create a missing label once', async () => {
  const sources = await Promise.all(upTo(4).map(() => createProject(2)))
  const taskIds = await Promise.all(sources.map(({ projectId, ids }) => createTask(projectId, ids)))
  const target = await createProject(0)
  const moves = taskIds.map((id, n) => either(n).patch(`/tasks/${id}`, { projectId: target.projectId }))
  expect(statuses(await Promise.all(moves))).toEqual({ 200: 4 })
  expect((await namesIn(target.projectId)).toSorted()).toEqual(['L1', 'L2'])
  const labels = await Promise.all(taskIds.map(labelsOf))
  expect(new Set(labels.flat()).size).toBe(2)
  expect(await faultsOf(sql)).toEqual([])
})

test('no task shows a label that is deleted while clients add it to tasks', async () => {
  const { projectId, ids } = await createProject(1)
  const [label = ''] = ids
  const taskIds = await Promise.all(upTo(12).map(() => createTask(projectId)))
  const adding = taskIds.map((id, n) => either(n).patch(`/tasks/${id}`, { addLabelIds: [label] }))
  const [deletion, ...added] = await Promise.all([atB.delete(`/labels/${label}`), ...adding])
  expect(deletion.status).toBe(200)
  expect(added.every(({ status }) => status === 200 || status === 400)).toBe(true)
  expect((await Promise.all(taskIds.map(labelsOf))).flat()).toEqual([])
  expect(await faultsOf(sql)).toEqual([])
})

async function createTasks(count: number): Promise<string[]> {
  const { id: projectId } = await make(atA, '/projects', { name: 'Ring' })
  const tasks = await Promise.all(
    upTo(count).map((n) => make(either(n), '/tasks', { title: `T${n}`, projectId })),
  )
  return tasks.map(({ id }) => id)
}

test('if concurrent writes at two processes would together form a cycle of blockers, the last write gets 409', async () => {
  for (const size of [2, 3, 12, 40]) {
    const ids = await createTasks(size)
    const answers = await Promise.all(
      ids.map((id, n) => either(n).patch(`/tasks/${id}`, { addBlockedByIds: [ids[(n + 1) % size]!] })),
    )
    expect(statuses(answers)).toEqual({ 200: size - 1, 409: 1 })
    const { message } = answers.find(({ status }) => status === 409)!.body
    expect(message.match(/#\d+ "T\d+"/g)).toHaveLength(Math.min(size + 1, 21))
  }
  expect(await faultsOf(sql)).toEqual([])
})

test('random changes of blockers by many writers, with moves, deletions and undos, never form a cycle', async () => {
  const ids = await createTasks(12)
  const [{ projectId } = {} as Body] = [(await atA.get(`/tasks/${ids[0]}`)).body]
  const { id: otherId } = await make(atA, '/projects', { name: 'Other' })
  const pick = () => ids[Math.floor(Math.random() * ids.length)]!
  for (const _ of upTo(6)) {
    const answers = await Promise.all(
      upTo(40).map(async (n) => {
        const client = either(n)
        if (n % 10 === 9) return client.delete(`/tasks/${pick()}`)
        if (n % 10 > 6)
          return client.patch(`/tasks/${pick()}`, { projectId: n % 10 === 7 ? projectId : otherId })
        return client.patch(`/tasks/${pick()}`, {
          [n % 4 ? 'addBlockedByIds' : 'removeBlockedByIds']: [pick()],
        })
      }),
    )
    for (const { status, text } of answers) if (![200, 400, 404, 409].includes(status)) throw new Error(text)
    const seqs = await sql<{ seq: number }[]>`
      select seq::float8 as seq from events where project_id = ${projectId} and type = 'task.deleted' order by id`
    await Promise.all(seqs.map(({ seq }, n) => either(n).post(`/projects/${projectId}/undo`, { seq })))
    expect(await faultsOf(sql)).toEqual([])
  }
})

type Task = Body & { fields: Record<string, number> }

const openFields = async (count: number) => {
  const { id: projectId } = await make(atA, '/projects', { name: 'P' })
  const fields = await Promise.all(
    upTo(count).map((n) =>
      make(either(n), `/projects/${projectId}/fields`, { key: `k${n}`, name: `N${n}`, type: 'number' }),
    ),
  )
  return { projectId, fieldIds: fields.map(({ id }) => id) }
}

test('concurrent writes at two processes to different values of one task are all stored', async () => {
  const { projectId } = await openFields(40)
  const { id } = await make(atA, '/tasks', { title: 'T', projectId })
  const answers = await Promise.all(
    upTo(40).map((n) => either(n).patch(`/tasks/${id}`, { fields: { [`k${n}`]: n } })),
  )
  expect(statuses(answers)).toEqual({ 200: 40 })
  const { fields } = (await atB.get(`/tasks/${id}`)).body as Task
  expect(fields).toEqual(Object.fromEntries(upTo(40).map((n) => [`k${n}`, n])))
  expect(await faultsOf(sql)).toEqual([])
})

test('two processes that create too many fields with the same keys create each key once and keep the limit', async () => {
  const { id: projectId } = await make(atA, '/projects', { name: 'P' })
  const create = (n: number) => {
    const field = { key: `k${n % 60}`, name: 'N', type: 'text' }
    return either(Math.floor(n / 60)).post(`/projects/${projectId}/fields`, field)
  }
  const answers = await Promise.all(upTo(120).map((n) => create(n - 1)))
  expect(statuses(answers)).toEqual({ 201: 50, 409: 70 })
  const rows = (await atA.get(`/projects/${projectId}/fields`)).body as unknown as { key: string }[]
  expect(new Set(rows.map(({ key }) => key)).size).toBe(50)
  expect(await faultsOf(sql)).toEqual([])
})

test('after the response to a deletion or undo of a field, no process shows the other state', async () => {
  const { projectId, fieldIds } = await openFields(2)
  const { id } = await make(atA, '/tasks', { title: 'T', projectId, fields: { k1: 1, k2: 2 } })
  const path = `/tasks?projectId=${projectId}`
  const shown = () =>
    Promise.all(
      [atA, atB].flatMap((client) => [
        client.get(`/tasks/${id}`).then(({ body }) => (body as Task).fields),
        client.get(path).then(({ body }) => (body as unknown as Task[])[0]!.fields),
      ]),
    )
  for (const n of upTo(10)) {
    await shown()
    const deleted = await either(n).delete(`/fields/${fieldIds[0]}`)
    expect(deleted.status).toBe(200)
    expect(await shown()).toEqual(Array(4).fill({ k2: 2 }))
    const [event] = await sql<{ seq: number }[]>`
      select max(seq)::float8 as seq from events where project_id = ${projectId}`
    const undone = await either(n + 1).post(`/projects/${projectId}/undo`, { seq: event!.seq })
    expect(undone.status).toBe(200)
    expect(await shown()).toEqual(Array(4).fill({ k1: 1, k2: 2 }))
  }
})

test('while a view changes, both processes return the tasks that its query selects', async () => {
  const { id: projectId } = await make(atA, '/projects', { name: 'P' })
  for (const status of ['TODO', 'DONE']) await make(atA, '/tasks', { title: status, projectId, status })
  const view = await make(atA, `/projects/${projectId}/views`, { name: 'V', query: { status: 'TODO' } })
  const read = async (client: typeof atA) => {
    const { headers, body } = await client.get(`/views/${view.id}/tasks`)
    return [headers.get('etag')!, body.map(({ title }) => title).join()] as const
  }
  const seen = new Map<string, string>()
  for (const n of upTo(20)) {
    const status = n % 2 ? 'DONE' : 'TODO'
    const reading = Promise.all(upTo(8).map((one) => read(either(one))))
    await either(n).patch(`/views/${view.id}`, { query: { status } })
    await reading
    for (const [etag, titles] of await Promise.all([atA, atB].map(read))) {
      expect(titles).toBe(status)
      expect(seen.get(etag) ?? titles).toBe(titles)
      seen.set(etag, titles)
    }
  }
})
