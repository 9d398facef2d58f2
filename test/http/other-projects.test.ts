import {
  deleteAndPurge,
  faultsOf,
  forFile,
  invite,
  make,
  openProject,
  openTeam,
  openTestService,
} from '../kit.ts'
import { register, runBatch } from '../kit.ts'
import type { Client, Person } from '../kit.ts'
import { createRows, pathOf, readCalls, type Rows, send } from './operations.ts'

const { people, owner, client, guest, sql, service } = await openTeam(['Guest'])
const { calls } = await readCalls(client)

/** Two projects with the same people, names, keys, external ids and places. Only the other project has `extra`. */
async function makeTwins() {
  const twin = async () => {
    const rows = await createRows(people, guest, sql)
    const { projectId } = rows
    const operations = ['X', 'Y'].map((title) => ({
      ...{ op: 'task.upsert', externalId: title, title, assigneeId: guest.id },
    }))
    const [first, second] = await runBatch(owner, projectId, operations)
    const blocked = { title: 'Z', blockedByIds: [second!.id], labelIds: [rows.labelId], place: 'first' }
    await make(owner, '/tasks', { projectId, ...blocked })
    await owner.post(`/tasks/${first!.id}/claim`, { leaseSeconds: 600 })
    return rows
  }
  const [own, other] = [await twin(), await twin()]
  const extra = { projectId: other.projectId, title: 'Extra', externalId: 'extra', priority: 'HIGH' }
  return { own, other, extra: await make(owner, '/tasks', extra) }
}

const more = ({ projectId: id, taskId }: Rows) => [
  ...['docket&history=true', 'ndjson', 'csv'].map((format) => `/projects/${id}/export?format=${format}`),
  ...['sort=position', 'ready=true', 'q=z', 'asOf=12'].map((query) => `/tasks?projectId=${id}&${query}`),
  ...[`/tasks/${taskId}?asOf=12`, `/tasks/${taskId}/comments?asOf=12`, `/projects/${id}/members?asOf=5`],
]
const reads = calls.filter(({ method, role }) => method === 'GET' && role)

/** Returns the bodies of all reads of a project, without the time of an export. */
const readAll = async (by: Client, rows: Rows): Promise<string[]> => {
  const texts: string[] = []
  for (const path of [...reads.map((call) => pathOf(call, rows)), ...more(rows)]) {
    const { status, text } = await by.get(path)
    expect([path, status]).toEqual([path, 200])
    texts.push(text.replace(/"exportedAt":"[^"]*"/, ''))
  }
  return texts
}

const idsIn = (texts: string[]) => new Set(texts.join().match(/[0-9a-f]{8}-(?:[0-9a-f]{4}-){3}[0-9a-f]{12}/g))

test('reads of a project contain no id of another project, even if both have the same contents', async () => {
  const { own, other } = await makeTwins()
  const [first, second] = [idsIn(await readAll(owner, own)), idsIn(await readAll(owner, other))]
  const { stranger: _, ...members } = people
  const ids = Object.values({ ...members, guest }).map(({ id }) => id)
  expect([...first.intersection(second)].sort()).toEqual(ids.sort())
})

test('writes to a project and its deletion change nothing in another project with the same contents', async () => {
  const { own, other, extra } = await makeTwins()
  // Deliveries would change the webhook.
  await owner.patch(`/projects/${other.projectId}/webhooks/${other.webhookId}`, { enabled: false })
  service.startWorkers()
  const before = await readAll(owner, other)
  const { projectId: id, taskId } = own
  const attempts: [status: number, method: string, path: string, body?: object][] = [
    [400, 'PATCH', `/tasks/${taskId}`, { blockedByIds: [other.taskId] }],
    [400, 'PATCH', `/tasks/${taskId}`, { addBlockedByIds: [extra.id] }],
    [400, 'PATCH', `/tasks/${taskId}`, { labelIds: [other.labelId] }],
    [409, 'PATCH', `/tasks/${taskId}`, { after: extra.id }],
    [404, 'DELETE', `/projects/${id}/members/${other.memberId}`],
    [404, 'PATCH', `/projects/${id}/members/${other.memberId}/role`, { role: 'ADMIN' }],
    [404, 'PATCH', `/projects/${id}/webhooks/${other.webhookId}`, { enabled: false }],
    [201, 'POST', '/tasks', { projectId: id, title: 'Extra', externalId: 'extra', place: 'last' }],
    [400, 'POST', `/projects/${id}/claim-next`, { leaseSeconds: 60, labels: [other.labelId] }],
  ]
  for (const [status, method, path, body] of attempts)
    expect([path, body, (await owner.call(method, path, body)).status]).toEqual([path, body, status])
  for (const query of [`labels=${other.labelId}`, `anyLabel=${other.labelId}`, `blocks=${extra.id}`])
    expect((await owner.get(`/tasks?projectId=${id}&${query}`)).text).toBe('[]')
  const claimed: string[] = []
  const claim = () => owner.post(`/projects/${id}/claim-next`, { leaseSeconds: 60 })
  for (let next = await claim(); next.status === 200; next = await claim()) claimed.push(next.body.projectId)
  expect(new Set(claimed)).toEqual(new Set([id]))
  const isDeletion = ({ method }: { method: string }) => Number(method === 'DELETE')
  const writes = calls.filter(({ method, role }) => method !== 'GET' && role)
  for (const call of writes.toSorted((a, b) => isDeletion(a) - isDeletion(b))) await send(owner, call, own)
  await deleteAndPurge(owner, sql, id)
  expect(await readAll(owner, other)).toEqual(before)
  expect(await faultsOf(sql)).toEqual([])
})

test('a moved task shows the members of its new project nothing of the project that it left', async () => {
  const former = await register(client, 'Former Author')
  const { id: from } = await make(owner, '/projects', { name: 'Secret project' })
  await invite(owner, from, former, 'EDITOR')
  await make(owner, `/projects/${from}/fields`, { key: 'secret', name: 'Secret field', type: 'text' })
  const { id: label } = await make(owner, `/projects/${from}/labels`, { name: 'kept label' })
  const task = await make(former, '/tasks', {
    ...{ projectId: from, title: 'Secret title', fields: { secret: 'secret value' }, labelIds: [label] },
    ...{ assigneeId: former.id, externalId: 'secret' },
  })
  const comment = await make(former, `/tasks/${task.id}/comments`, { text: 'Secret comment' })
  await owner.delete(`/tasks/comments/${comment.id}`)
  await owner.patch(`/tasks/${task.id}`, { title: 'Title', externalId: null })
  const rows = await createRows(people, guest, sql)
  expect((await owner.patch(`/tasks/${task.id}`, { projectId: rows.projectId })).status).toBe(200)
  const seen = await readAll(people.admin, rows)
  for (const end of ['', '/comments', '/history'])
    seen.push((await people.admin.get(`/tasks/${task.id}${end}`)).text)
  const secrets = new RegExp(`secret|Former|${from}|${former.id}`, 'i')
  expect(seen.filter((text) => secrets.test(text))).toEqual([])
  expect(seen.join()).toContain('kept label')
})

test('another process finds a moved task, also for a caller who may only read the project that the task left', async () => {
  const { editor, viewer } = people
  const other = await forFile(openTestService(service.env))
  const [from, to] = [
    await openProject(people),
    await openProject({ ...people, editor: viewer, viewer: editor }),
  ]
  const { id } = await make(owner, '/tasks', { title: 'T', projectId: from })
  const rename = (by: Person) => other.client.as(by.token).patch(`/tasks/${id}`, { title: by.id })
  expect((await rename(viewer)).status).toBe(403)
  expect((await owner.patch(`/tasks/${id}`, { projectId: to })).status).toBe(200)
  expect([(await rename(viewer)).status, (await rename(editor)).status]).toEqual([200, 403])
})
