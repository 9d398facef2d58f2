import { at, cases, freePort, invite, make, openPair, register, upTo, versionOf } from '../kit.ts'
import type { Body, Client } from '../kit.ts'
import { scrape } from '../metrics/scrape.ts'

const port = await freePort()
const { atA, atB, b } = await openPair({}, { METRICS_PORT: String(port) })

/** Returns a function that reads pages as a client that stores responses, and sends their ETags. */
function openReader(client: Client) {
  const stored = new Map<string, { etag: string; body: Body }>()
  const readOne = async (path: string): Promise<Body> => {
    const known = stored.get(path)
    const { status, headers, body } = await client.get(path, { 'if-none-match': known?.etag ?? '""' })
    if (status !== 304) stored.set(path, { etag: headers.get('etag')!, body })
    return stored.get(path)!.body
  }
  return (paths: string[]) => Promise.all(paths.map(readOne))
}

/** Creates a project with a row of most kinds, and returns the paths of its pages. */
async function openPages(owner: Client) {
  const { id: projectId } = await make(owner, '/projects', { name: 'Engine' })
  const project = `/projects/${projectId}`
  const field = await make(owner, `${project}/fields`, { key: 'size', name: 'Size', type: 'number' })
  const label = await make(owner, `${project}/labels`, { name: 'red' })
  const view = await make(owner, `${project}/views`, { name: 'V', query: { status: 'TODO' } })
  const create = (title: string) => make(owner, '/tasks', { projectId, title, fields: { size: 1 } })
  const [task, other] = [await create('Task'), await create('Other')]
  await make(owner, `/tasks/${task.id}/comments`, { text: 'Slow' })
  const ofTasks = [task, other].flatMap(({ id }) =>
    ['', '/subtasks', '/comments'].map((list) => `/tasks/${id}${list}`),
  )
  const lists = [
    `/tasks?projectId=${projectId}`,
    `/views/${view.id}/tasks`,
    `${project}/members`,
    '/projects',
  ]
  return { projectId, project, field, label, view, task, other, paths: [...ofTasks, ...lists, project] }
}

const directions = [
  ['the first process', atA, atB],
  ['the second process', atB, atA],
] as const
test.each(directions)(
  'after each kind of write at %s, the other shows the new state',
  async (_, here, there) => {
    const { projectId, project, field, label, view, task, other, paths } = await openPages(here)
    const path = `/tasks/${task.id}`
    const operations = [{ op: 'task.update', id: task.id, priority: 'HIGH' }]
    const undo = async () => here.post(`${project}/undo`, { seq: await versionOf(here, projectId) })
    const writes: Record<string, () => Promise<unknown>> = {
      'a change': () => here.patch(path, { title: 'New' }),
      'a label': () => here.patch(path, { labelIds: [label.id] }),
      'a subtask': () => make(here, `${path}/subtasks`, { title: 'Part' }),
      'a comment': () => make(here, `${path}/comments`, { text: 'Text' }),
      'a blocker': () => here.patch(path, { blockedByIds: [other.id] }),
      'the end of a blocker': () => here.patch(`/tasks/${other.id}`, { status: 'DONE' }),
      'another query of a view': () => here.patch(`/views/${view.id}`, { query: { status: 'DONE' } }),
      'the deletion of a label': () => here.delete(`/labels/${label.id}`),
      'the deletion of a field': () => here.delete(`/fields/${field.id}`),
      'the undo of a deletion': undo,
      'a claim': () => here.post(`${path}/claim`, { leaseSeconds: 60 }),
      'a batch': () => here.post(`${project}/batch`, { operations }),
      'another name of the owner': () => here.patch('/auth/me', { name: `Ada ${projectId}` }),
      'a deletion': () => here.delete(`/tasks/${other.id}`),
    }
    const [readHere, readThere] = [openReader(here), openReader(there)]
    for (const [n, [what, write]] of Object.entries(writes).entries()) {
      const before = await readHere(paths)
      expect([what, await readThere(paths)]).toEqual([what, before])
      const version = await versionOf(there, projectId)
      const news = there.get(`${project}/events?after=${version}&wait=25`)
      await write()
      // In every second round, the notification arrives first. A name is not an event.
      if (n % 2 && !what.includes('name')) await news
      const [after, afterThere] = await Promise.all([readHere(paths), readThere(paths)])
      expect([what, after]).not.toEqual([what, before])
      expect([what, afterThere]).toEqual([what, after])
    }
  },
)

test('while a name changes, no response returns to an older name, and responses with the same ETag have the same name', async () => {
  const { id } = await make(atA, '/projects', { name: 'Engine' })
  let isOver = false
  const byTag = new Map<string, string>()
  const watch = async (reader: Client) => {
    for (let last = 0; !isOver;) {
      const { body, headers } = await reader.get(`/projects/${id}`)
      const { name } = body.owner
      const now = Number(/^Name (\d+)$/.exec(name)?.[1] ?? 0)
      expect(now).toBeGreaterThanOrEqual(last)
      const tag = headers.get('etag')!
      expect(byTag.get(tag) ?? name).toBe(name)
      byTag.set(tag, name)
      last = now
    }
  }
  const watching = [atA, atB].flatMap((reader) => upTo(3).map(() => watch(reader)))
  for (const n of upTo(cases(30))) await atA.patch('/auth/me', { name: `Name ${n}` })
  isOver = true
  await Promise.all(watching)
  expect(byTag.size).toBeGreaterThan(10)
})

test('a role that is set at one process, and a removal, apply to the next request at the other process', async () => {
  const { id: projectId } = await make(atA, '/projects', { name: 'Shared' })
  const project = `/projects/${projectId}`
  const guest = at(await register(atA), b)
  const write = async () => (await guest.post('/tasks', { title: 'Mine', projectId })).status
  const read = async () => (await guest.get(project)).status
  for (const n of upTo(cases(10))) {
    const { id } = await invite(atA, projectId, guest, 'VIEWER')
    expect([await read(), await write()]).toEqual([200, 403])
    expect((await atA.patch(`${project}/members/${id}/role`, { role: 'EDITOR' })).status).toBe(200)
    expect(await write()).toBe(201)
    expect((await atA.delete(`${project}/members/${id}`)).status).toBe(200)
    for (const request of n % 2 ? [write, read] : [read, write]) expect(await request()).toBe(404)
  }
})

test('a right that a process has cached stays valid after a create at another process', async () => {
  const { id: projectId } = await make(atA, '/projects', { name: 'Engine' })
  const misses = async () =>
    (await scrape(port)).of('docket_cache_requests_total{cache="roles",result="miss"}')!
  const listed = async () => (await atB.get(`/tasks?projectId=${projectId}`)).body
  await listed()
  const before = await misses()
  for (const n of upTo(20)) {
    const news = atB.get(`/projects/${projectId}/events?after=${n}&wait=25`)
    await Promise.all([news, make(atA, '/tasks', { projectId, title: `T${n}` })])
    expect(await listed()).toHaveLength(n)
  }
  expect((await misses()) - before).toBeLessThan(20)
})
