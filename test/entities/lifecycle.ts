// Runs in a copy of the project that has the new entities: see copy.deep.test.ts.
import { eventually, faultsOf, newId, readFeed, versionOf } from '../kit.ts'
import { openReceiver } from '../webhooks/receiver.ts'
import { rowsWith, untilOutboxEmpty } from '../workers/remains.ts'
import { ada, batch, createPlace, created, type Place, rowsAt, sql, undo } from './scene.ts'

interface Kind {
  entity: string
  list(place: Place): string
  one(id: string): string
  /** The field with the text of a row. */
  text: string
  body: object
  parent(place: Place): object
}

const kinds: Kind[] = [
  {
    ...{ entity: 'work_log', text: 'remark', parent: ({ taskId }) => ({ taskId }) },
    list: ({ taskId }) => `/tasks/${taskId}/work_logs`,
    one: (id) => `/tasks/work_logs/${id}`,
    body: { remark: 'Plan', hours: 3, kind: 'ONSITE', details: { pages: [1, { of: 2 }] } },
  },
  {
    ...{ entity: 'tag', text: 'name', parent: ({ projectId }) => ({ projectId }) },
    list: ({ projectId }) => `/projects/${projectId}/tags`,
    one: (id) => `/tags/${id}`,
    body: { name: 'Plan' },
  },
]

describe.each(kinds)('$entity', ({ entity, list, one, text, body, parent }: Kind) => {
  const feed = (projectId: string) => readFeed(ada, `/projects/${projectId}/events?after=2`)
  const textIn = (row: object) => (row as Record<string, string>)[text]!
  const texts = async (path: string) => (await rowsAt(path)).map(textIn)
  const sketch = { [text]: 'Sketch' }

  test('is created, updated, deleted and restored, with an event for each write, and checks If-Match', async () => {
    const place = await createPlace()
    const row = await created(list(place), body)
    expect(await rowsAt(list(place))).toEqual([row])
    const changed = await ada.patch(one(row.id), sketch)
    expect(changed.body).toMatchObject({ ...body, ...sketch })
    const unchanged = await ada.patch(one(row.id), sketch)
    expect(unchanged.headers.get('etag')).toBe(changed.headers.get('etag'))
    await undo(place.projectId, 4)
    expect(await texts(list(place))).toEqual(['Plan'])
    await undo(place.projectId, 5)
    expect((await ada.delete(one(row.id), { 'if-match': '"no"' })).status).toBe(412)
    for (const status of [200, 404]) expect((await ada.delete(one(row.id))).status).toBe(status)
    await undo(place.projectId, 7)
    expect(await rowsAt(list(place))).toMatchObject([{ ...body, id: row.id, ...sketch }])
    await undo(place.projectId, 8)
    const shown = [['Plan'], ['Sketch'], ['Plan'], ['Sketch'], [], ['Sketch'], []]
    for (const [n, expected] of shown.entries())
      expect(await texts(`${list(place)}?asOf=${n + 3}`)).toEqual(expected)
    const verbs = ['created', 'updated', 'updated', 'updated', 'deleted', 'created', 'deleted']
    const events = await feed(place.projectId)
    expect(events.map(({ type }) => type)).toEqual(verbs.map((verb) => `${entity}.${verb}`))
    expect(events[1]).toMatchObject({ before: { [text]: 'Plan' }, after: sketch })
    const history = await readFeed(ada, `/projects/${place.projectId}/history?entity=${entity}`)
    expect(history).toEqual(events.toReversed())
    expect((await ada.post(`/projects/${place.projectId}/undo`, { seq: 7 })).status).toBe(409)
    expect(await faultsOf(sql)).toEqual([])
  })

  test('is written by a batch that refers to it by name', async () => {
    const place = await createPlace()
    const operations = [
      { op: `${entity}.create`, as: 'one', ...parent(place), ...body },
      { op: `${entity}.update`, id: '#one', was: { [text]: 'Plan' }, ...sketch },
    ]
    const { body: answer } = await batch(place, operations, '?return=full')
    const { results } = answer as never as { results: { id: string }[] }
    expect(results.map(textIn)).toEqual(['Plan', 'Sketch'])
    const stale = { op: `${entity}.delete`, id: results[0]!.id, was: { [text]: 'Plan' } }
    expect((await batch(place, [stale])).status).toBe(409)
  })

  test('is purged with its project', async () => {
    const place = await createPlace()
    const { id } = await created(list(place), body)
    await ada.delete(`/projects/${place.projectId}`)
    expect((await ada.get(list(place))).status).toBe(404)
    await untilOutboxEmpty(sql)
    expect(await rowsWith(sql, [id])).toEqual({})
  })

  test('may get its id from the client, once', async () => {
    const place = await createPlace()
    const id = newId()
    const own = { ...body, [text]: 'Own', id }
    expect((await created(list(place), own)).id).toBe(id)
    const other = await createPlace()
    expect((await ada.post(list(other), own)).status).toBe(409)
    await ada.delete(one(id))
    expect((await ada.post(list(other), own)).status).toBe(409)
    expect((await ada.post(list(place), own)).status).toBe(409)
    expect(await versionOf(ada, place.projectId)).toBe(4)
  })

  test('is sent to a webhook', async () => {
    const place = await createPlace()
    const receiver = await openReceiver()
    const hook = { url: receiver.url, types: [`${entity}.created`] }
    await created(`/projects/${place.projectId}/webhooks`, hook)
    const row = await created(list(place), body)
    await eventually('the event', () => receiver.received.length === 1)
    expect(receiver.received[0]!.body.data.events).toMatchObject([{ type: `${entity}.created`, after: row }])
    await receiver.close()
  })
})
