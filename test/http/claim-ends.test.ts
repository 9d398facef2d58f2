import { expect, test } from 'bun:test'
import { eventually } from '../races/pair.ts'
import { type Answer, type Body, invite, make } from '../support/client.ts'
import { openScene } from '../support/scene.ts'

const { ada, bea } = await openScene(['Ada', 'Bea'])
const claimIn = (answer: Pick<Answer, 'body'>) => (answer.body as Body & { claim: unknown }).claim

test('after its end, no response shows a claim, even before a worker has recorded the end', async () => {
  const { id: projectId } = await make(ada, '/projects', { name: 'Queue' })
  await invite(ada, projectId, bea, 'EDITOR')
  const claimed = async (title: string) => {
    const { id } = await make(ada, '/tasks', { projectId, title })
    const { headers } = await ada.post(`/tasks/${id}/claim`, { leaseSeconds: 10 })
    return { id, path: `/tasks/${id}`, etag: headers.get('etag')! }
  }
  const [one, other, third] = [await claimed('One'), await claimed('Other'), await claimed('Third')]
  const list = `/tasks?projectId=${projectId}`
  const listed = await ada.get(list)
  const listTag = listed.headers.get('etag')!
  expect(listed.body.map((body) => claimIn({ body }))).not.toContain(null)
  expect((await ada.get(list, { 'if-none-match': listTag })).status).toBe(304)
  expect((await ada.get(one.path, { 'if-none-match': one.etag })).status).toBe(304)
  await eventually('the end of the last claim', async () => claimIn(await ada.get(third.path)) === null)

  const read = await ada.get(one.path, { 'if-none-match': one.etag })
  expect([read.status, claimIn(read)]).toEqual([200, null])
  const page = await ada.get(list, { 'if-none-match': listTag })
  expect(page.body.map((body) => claimIn({ body }))).toEqual([null, null, null])
  expect((await ada.get(list, { 'if-none-match': page.headers.get('etag')! })).status).toBe(304)
  expect(claimIn(await ada.get(`${third.path}?asOf=8`))).toMatchObject({ by: { name: 'Ada' } })

  const changed = await bea.patch(other.path, { title: 'New' }, { 'if-match': other.etag })
  expect([changed.status, claimIn(changed)]).toEqual([200, null])
  const operations = [{ op: 'task.update', id: other.id, was: { claim: null }, title: 'Newer' }]
  const { body } = await bea.post(`/projects/${projectId}/batch?return=full`, { operations })
  const { results } = body as unknown as { results: Body[] }
  expect(results.map((result) => claimIn({ body: result }))).toEqual([null])

  expect((await ada.post(`${third.path}/release`)).status).toBe(200)
  const next = await bea.post(`${one.path}/claim`, { leaseSeconds: 60 })
  expect(claimIn(next)).toMatchObject({ by: { name: 'Bea' }, seq: 12 })
  const events = (await ada.get(`/projects/${projectId}/events?after=10`)).body as unknown as {
    type: string
  }[]
  expect(events.map(({ type }) => type)).toEqual(['task.claim_expired', 'task.claimed'])
})
