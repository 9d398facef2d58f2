import { aTimestamp, eventually, expectError, faultsOf, invite, isReplay, make, register } from '../kit.ts'
import type { Person } from '../kit.ts'
import { batchResult } from './batch-scene.ts'
import { claimIn, openQueue } from './queue-scene.ts'

const queue = await openQueue()
const {
  at,
  ada,
  bea,
  client,
  sql,
  add,
  batch,
  claim,
  claimFor,
  events,
  patch,
  read,
  release,
  undo,
  version,
} = queue

const typesAfter = async (seq: number) => (await events(`after=${seq}`)).map(({ type }) => type)
const claimNow = async () => claimIn(await read())
const tagOf = ({ headers }: { headers: Headers }) => headers.get('etag')!

test('a claim contains its holder, end and seq, and every response with the task shows the claim', async () => {
  const claimed = await claim()
  const shown = { by: { id: ada.id, name: 'Ada' }, until: aTimestamp, seq: 4 }
  expect([claimed.status, claimIn(claimed)]).toEqual([200, shown as never])
  for (const path of [
    '/tasks',
    `/tasks?projectId=${at.projectId}`,
    `/tasks?projectId=${at.projectId}&asOf=4`,
  ])
    expect((await bea.get(path)).body).toContainEqual(claimed.body)
  for (const query of ['', '?asOf=4']) expect(claimIn(await read(query))).toEqual(shown as never)
  const [event] = await events('after=3')
  expect(event).toMatchObject({ type: 'task.claimed', before: { claim: null }, after: { claim: shown } })
  expect(claimIn(await bea.patch(`/tasks/${at.taskId}`, { title: 'Ink' }))).toEqual(shown as never)
})

test('another account gets 409 with the holder and end of the claim; an extended claim keeps its seq', async () => {
  expect((await release()).status).toBe(200)
  const { until } = claimIn(await claim())!
  const message = `Ada holds a claim on the task until ${until}`
  expectError(await claim(bea), 409, message)
  expectError(await release(bea, { failed: true }), 409, message)
  const extended = claimIn(await claim(ada, 3_600))!
  expect([extended.seq, extended.until > until]).toEqual([4, true])
  expect(claimIn(await release())).toBe(null)
  expect(claimIn(await claim(bea))).toMatchObject({ by: { name: 'Bea' }, seq: 7 })
  expect(await typesAfter(3)).toEqual(['task.claimed', 'task.claimed', 'task.released', 'task.claimed'])
})

test('the ETag of a claimed task changes with the name of the holder, and matches in If-Match', async () => {
  const holder = await register(client, 'Cyd')
  await invite(ada, at.projectId, holder, 'EDITOR')
  const paths = [`/tasks/${at.taskId}`, `/tasks?projectId=${at.projectId}`]
  const claimed = await claim(holder)
  const before = await Promise.all(paths.map(async (path) => tagOf(await ada.get(path))))
  expect(before[0]).toBe(tagOf(claimed))
  for (const [n, path] of paths.entries())
    expect((await ada.get(path, { 'if-none-match': before[n]! })).status).toBe(304)
  await holder.patch('/auth/me', { name: 'Cyd Moore' })
  for (const [n, path] of paths.entries()) {
    const answer = await ada.get(path, { 'if-none-match': before[n]! })
    expect([answer.status, answer.text.includes('Cyd Moore')]).toEqual([200, true])
    expect(tagOf(answer)).not.toBe(before[n]!)
  }
  const condition = { 'if-match': tagOf(await read()) }
  const changed = await ada.patch(`/tasks/${at.taskId}`, { title: 'Ink' }, condition)
  expect([changed.status, claimIn(changed)]).toEqual([200, await claimNow()])
  expect(claimIn(changed)).toMatchObject({ by: { name: 'Cyd Moore' } })
  expect(tagOf(await read())).toBe(tagOf(changed))
})

test('DONE, a deletion, a move and an undo end the claim in their own event, and an undo restores no claim', async () => {
  await claim() // 4
  expect(claimIn(await patch({ status: 'DONE' }))).toBe(null) // 5
  expectError(await claim(), 409, 'A task that is DONE cannot be claimed')
  expect((await undo(5)).status).toBe(200) // 6
  expect(await claimNow()).toBe(null)
  await claim() // 7
  // The undo of the undo sets the status DONE again.
  expect((await undo(6)).status).toBe(200) // 8
  expect(await claimNow()).toBe(null)
  await patch({ status: 'TODO' }) // 9
  await claim() // 10
  expect((await undo(10)).status).toBe(200) // 11
  expect(await claimNow()).toBe(null)
  expectError(await undo(11), 409, 'The end of a claim cannot be undone: claim the task again')
  for (const _ of [1, 2]) await claim() // 12, 13
  expectError(await undo(12), 409, /claim/)
  const other = await make(ada, '/projects', { name: 'Other' })
  expect(claimIn(await patch({ projectId: other.id }))).toBe(null)
  await claim()
  await ada.delete(`/tasks/${at.taskId}`)
  await ada.post(`/projects/${other.id}/undo`, { seq: 4 })
  expect(await claimNow()).toBe(null)
  expect(await faultsOf(sql)).toEqual([])
})

test('a batch can claim tasks, and each claim has the seq of its event', async () => {
  const operations = [
    { op: 'task.create', as: 'one', title: 'One' },
    { op: 'task.claim', id: at.taskId, leaseSeconds: 60 },
    { op: 'task.claim', id: '#one', leaseSeconds: 60 },
    { op: 'task.update', id: '#one', title: 'Two', was: { title: 'One' } },
  ]
  const { results } = batchResult(await batch(operations))
  const seqs = results.map((body) => claimIn({ body })?.seq)
  expect(seqs).toEqual([undefined, 5, 6, 6])
})

test('rejects an invalid lease with 400', async () => {
  for (const leaseSeconds of [undefined, 9, 86_401, '60', 10.5])
    expectError(await ada.post(`/tasks/${at.taskId}/claim`, { leaseSeconds }), 400, /^leaseSeconds/)
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

const ended = 'The claim with this seq has ended'
const claimSeq = async (by: Person = ada, id = at.taskId) => claimIn(await claim(by, 60, id))!.seq
const holding = (seq: number, id = at.taskId) => ({ 'docket-if-claim': `${id} ${seq}` })

test('a write needs the seq of a claim that is live and in the same project', async () => {
  const { id } = await add('Changed')
  const change = (headers: Record<string, string>) => ada.patch(`/tasks/${id}`, { title: 'New' }, headers)
  await claimFor(0)
  expectError(await change(holding(5)), 412, ended)
  const seq = await claimSeq(bea)
  for (const held of [holding(seq), holding(seq, at.taskId.toUpperCase())])
    expect((await change(held)).status).toBe(200)
  for (const held of [holding(seq + 1), holding(seq, id)]) expectError(await change(held), 412, ended)
  await claim(bea, 600)
  expect((await change(holding(seq))).status).toBe(200)
  const other = await make(ada, '/projects', { name: 'Other' })
  const elsewhere = await make(ada, '/tasks', { title: 'Other', projectId: other.id })
  expectError(await change(holding(await claimSeq(ada, elsewhere.id), elsewhere.id)), 412, ended)
  await release(bea)
  expectError(await change(holding(seq)), 412, ended)
  expect((await change(holding(await claimSeq(bea)))).status).toBe(200)
  expectError(await change(holding(seq)), 412, ended)
  for (const text of ['', 'x', '1 1', 'ID', 'ID x', 'ID -1', 'ID 1 1']) {
    const header = { 'docket-if-claim': text.replace('ID', at.taskId) }
    expectError(await change(header), 400, /^Docket-If-Claim must be/)
  }
})

test('a batch checks the claim of its body, or of the header, before its first operation', async () => {
  const seq = await claimSeq()
  const { id } = await add('Unclaimed')
  const run = (body: object, headers = {}) =>
    ada.post(`/projects/${at.projectId}/batch`, { ...body, operations }, headers)
  const operations = [
    { op: 'task.update', id: at.taskId, status: 'DONE' },
    { op: 'task.create', title: 'Next' },
  ]
  const ifClaim = { taskId: at.taskId, seq }
  for (const wrong of [{ seq: seq + 1 }, { taskId: id }, { taskId: 'x' }])
    expectError(await run({ ifClaim: { ...ifClaim, ...wrong } }), 412, ended)
  for (const wrong of [{}, { taskId: at.taskId }, { ...ifClaim, x: 1 }])
    expectError(await run({ ifClaim: wrong }), 400)
  expect((await run({ ifClaim }, holding(seq))).status).toBe(200)
  expectError(await run({ ifClaim }), 412, ended)
  expectError(await run({}, holding(seq)), 412, ended)
})

test('a repeat with its Idempotency-Key returns the first response even after the end of the claim', async () => {
  const seq = await claimSeq()
  const headers = { ...holding(seq), 'idempotency-key': `done-${at.taskId}` }
  const finish = () => ada.patch(`/tasks/${at.taskId}`, { status: 'DONE' }, headers)
  const [first, second] = [await finish(), await finish()]
  expect([first.status, second.status, isReplay(second), second.text]).toEqual([200, 200, true, first.text])
  expectError(await ada.patch(`/tasks/${at.taskId}`, { status: 'TODO' }, holding(seq)), 412, ended)
})
