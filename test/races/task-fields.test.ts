import { expect, test } from 'bun:test'
import { type Body, make } from '../support/client.ts'
import { faultsOf } from '../support/history.ts'
import { forFile } from '../support/service.ts'
import { openPair, statuses, upTo } from './pair.ts'

const pair = await forFile(openPair())
const clients = [pair.atA, pair.atB]
const clientOf = (n: number) => clients[n % 2]!
type Task = Body & { fields: Record<string, number> }

const openFields = async (count: number) => {
  const { id: projectId } = await make(pair.atA, '/projects', { name: 'P' })
  const fields = await Promise.all(
    upTo(count).map((n) =>
      make(clientOf(n), `/projects/${projectId}/fields`, { key: `k${n}`, name: `N${n}`, type: 'number' }),
    ),
  )
  return { projectId, fieldIds: fields.map(({ id }) => id) }
}

test('writers of two processes who set different values of one task lose no value', async () => {
  const { projectId } = await openFields(40)
  const { id } = await make(pair.atA, '/tasks', { title: 'T', projectId })
  const answers = await Promise.all(
    upTo(40).map((n) => clientOf(n).patch(`/tasks/${id}`, { fields: { [`k${n}`]: n } })),
  )
  expect(statuses(answers)).toEqual({ 200: 40 })
  const { fields } = (await pair.atB.get(`/tasks/${id}`)).body as Task
  expect(fields).toEqual(Object.fromEntries(upTo(40).map((n) => [`k${n}`, n])))
  expect(await faultsOf(pair.sql)).toEqual([])
})

test('of two processes that create fields with the same keys, and more than fit, each key and place is given once', async () => {
  const { id: projectId } = await make(pair.atA, '/projects', { name: 'P' })
  const create = (n: number) => {
    const field = { key: `k${n % 60}`, name: 'N', type: 'text' }
    return clientOf(Math.floor(n / 60)).post(`/projects/${projectId}/fields`, field)
  }
  const answers = await Promise.all(upTo(120).map((n) => create(n - 1)))
  expect(statuses(answers)).toEqual({ 201: 50, 409: 70 })
  const rows = (await pair.atA.get(`/projects/${projectId}/fields`)).body as unknown as { key: string }[]
  expect(new Set(rows.map(({ key }) => key)).size).toBe(50)
  expect(await faultsOf(pair.sql)).toEqual([])
})

test('after the response to a deletion or undo of a field, no process shows the other state', async () => {
  const { projectId, fieldIds } = await openFields(2)
  const { id } = await make(pair.atA, '/tasks', { title: 'T', projectId, fields: { k1: 1, k2: 2 } })
  const path = `/tasks?projectId=${projectId}`
  const shown = () =>
    Promise.all(
      clients.flatMap((client) => [
        client.get(`/tasks/${id}`).then(({ body }) => (body as Task).fields),
        client.get(path).then(({ body }) => (body as unknown as Task[])[0]!.fields),
      ]),
    )
  for (const n of upTo(10)) {
    await shown()
    const deleted = await clientOf(n).delete(`/fields/${fieldIds[0]}`)
    expect(deleted.status).toBe(200)
    expect(await shown()).toEqual(Array(4).fill({ k2: 2 }))
    const [event] = await pair.sql<{ seq: number }[]>`
      select max(seq)::float8 as seq from events where project_id = ${projectId}`
    const undone = await clientOf(n + 1).post(`/projects/${projectId}/undo`, { seq: event!.seq })
    expect(undone.status).toBe(200)
    expect(await shown()).toEqual(Array(4).fill({ k1: 1, k2: 2 }))
  }
})

test('while a view changes, both processes return the tasks that its query selects', async () => {
  const { id: projectId } = await make(pair.atA, '/projects', { name: 'P' })
  for (const status of ['TODO', 'DONE']) await make(pair.atA, '/tasks', { title: status, projectId, status })
  const view = await make(pair.atA, `/projects/${projectId}/views`, { name: 'V', query: { status: 'TODO' } })
  const read = async (client: (typeof clients)[number]) => {
    const { headers, body } = await client.get(`/views/${view.id}/tasks`)
    return [headers.get('etag')!, body.map(({ title }) => title).join()] as const
  }
  const seen = new Map<string, string>()
  for (const n of upTo(20)) {
    const status = n % 2 ? 'DONE' : 'TODO'
    const reading = Promise.all(upTo(8).map((one) => read(clientOf(one))))
    await clientOf(n).patch(`/views/${view.id}`, { query: { status } })
    await reading
    for (const [etag, titles] of await Promise.all(clients.map(read))) {
      expect(titles).toBe(status)
      expect(seen.get(etag) ?? titles).toBe(titles)
      seen.set(etag, titles)
    }
  }
})
