import { eventually, expectError } from '../kit.ts'
import { batchResult } from './batch-scene.ts'
import { claimIn, openQueue } from './queue-scene.ts'

const queue = await openQueue()
const { at, ada, bea, add, batch, claim, claimFor, events, read, release, version } = queue

const typesAfter = async (seq: number) => (await events(`after=${seq}`)).map(({ type }) => type)
const tagOf = ({ headers }: { headers: Headers }) => headers.get('etag')!

test('the reason of a release has at most 2,000 characters', async () => {
  await claim()
  expectError(await release(ada, { reason: 'x'.repeat(2_001) }), 400, /^reason must be/)
  expect((await release(ada, { reason: '𝄞'.repeat(2_000) })).status).toBe(200)
})

test('no response shows a claim that has ended, even before a worker has recorded the end', async () => {
  const ids = [at.taskId, (await add('Other')).id, (await add('Third')).id] as const
  const list = `/tasks?projectId=${at.projectId}`
  const filters = ['claimedBy=none', 'claimedBy=me', 'ready=true'].map((filter) => `${list}&${filter}`)
  const paths = [...ids.map((id) => `/tasks/${id}`), list, ...filters]
  let tags: string[] = []
  const conditional = (n: number) => ada.get(paths[n]!, { 'if-none-match': tags[n]! })
  // If the reads take longer than the claims, claims the tasks for more time.
  for (let seconds = 2, isLive = false; !isLive; seconds *= 2) {
    await Promise.all(ids.map((id) => claimFor(seconds, id)))
    const live = await Promise.all(paths.map((path) => ada.get(path)))
    tags = live.map(tagOf)
    const unchanged = await Promise.all([0, 3, 4, 5].map(conditional))
    const after = await Promise.all(ids.map((id) => read('', id)))
    isLive = [...live.slice(0, 3), ...after].every((answer) => claimIn(answer) !== null)
    if (isLive) expect(unchanged.map(({ status }) => status)).toEqual([304, 304, 304, 304])
  }
  const seq = await version()
  await eventually('the end of the last claim', async () =>
    (await ada.get(list)).body.every((body) => claimIn({ body }) === null),
  )

  const [one, page] = [await conditional(0), await conditional(3)]
  expect([one.status, claimIn(one), page.status]).toEqual([200, null, 200])
  expect(page.body.map((body) => claimIn({ body }))).toEqual([null, null, null])
  expect((await ada.get(list, { 'if-none-match': tagOf(page) })).status).toBe(304)
  const filtered = await Promise.all([4, 5, 6].map(conditional))
  expect(filtered.map(({ status, body }) => [status, body.length])).toEqual(
    [4, 5, 6].map((n) => [200, n === 5 ? 0 : 3]),
  )
  expect(claimIn(await read(`?asOf=${seq}`))).toMatchObject({ by: { name: 'Ada' } })
  // A claim of one's own counts as ready.
  for (const [filter, own, others] of [
    ['claimedBy=me', 3, 0],
    ['claimedBy=none', 0, 0],
    ['ready=true', 3, 0],
  ] as const) {
    const counts = [ada, bea].map(async (by) => (await by.get(`${list}&asOf=${seq}&${filter}`)).body.length)
    expect([filter, ...(await Promise.all(counts))]).toEqual([filter, own, others])
  }

  const changed = await bea.patch(paths[1]!, { title: 'New' }, { 'if-match': tags[1]! }) // seq + 1
  expect([changed.status, claimIn(changed)]).toEqual([200, null])
  const operations = [{ op: 'task.update', id: ids[1], was: { claim: null }, title: 'Newer' }]
  const { results } = batchResult(await batch(operations, bea)) // seq + 2
  expect(claimIn({ body: results[0]! })).toBeNull()
  expect((await release(ada, undefined, ids[2])).status).toBe(200)
  expect(claimIn(await claim(bea, 60, ids[0]))).toMatchObject({ by: { name: 'Bea' }, seq: seq + 4 })
  expect(await typesAfter(seq + 2)).toEqual(['task.claim_expired', 'task.claimed'])
})
