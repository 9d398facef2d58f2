import { aTimestamp, createFullProject, eventually, expectError, faultsOf, invite, isReplay } from '../kit.ts'
import { make, openTeam, register } from '../kit.ts'
import type { Answer, Body, Person, ProjectParts } from '../kit.ts'

const { ada, bea, client, sql, owner, editor, people } = await openTeam(['Ada', 'Bea'])
let [projectId, taskId] = ['', '']

const claim = (by: Person = ada, leaseSeconds = 60, id = taskId) =>
  by.post(`/tasks/${id}/claim`, { leaseSeconds })
const release = (by: Person = ada) => by.post(`/tasks/${taskId}/release`)
const claimIn = ({ body }: Pick<Answer, 'body'>) => (body as Body & { claim: unknown }).claim
const claimNow = async () => claimIn(await ada.get(`/tasks/${taskId}`))
const undo = (seq: number) => ada.post(`/projects/${projectId}/undo`, { seq })
const typesAfter = async (seq: number) => {
  const { body } = await ada.get(`/projects/${projectId}/events?after=${seq}`)
  return body.map((event) => (event as unknown as { type: string }).type)
}

describe('claims', () => {
  beforeEach(async () => {
    projectId = (await make(ada, '/projects', { name: 'Queue' })).id
    await invite(ada, projectId, bea, 'EDITOR')
    taskId = (await make(ada, '/tasks', { projectId, title: 'Draw' })).id
  })

  test('a claim contains its holder, end and seq, and every response with the task shows the claim', async () => {
    const claimed = await claim()
    expect(claimed.status).toBe(200)
    const shown = { by: { id: ada.id, name: 'Ada' }, until: aTimestamp, seq: 4 }
    expect(claimIn(claimed)).toEqual(shown)
    expect(await claimNow()).toEqual(shown)
    expect((await bea.get(`/tasks?projectId=${projectId}`)).body).toEqual([claimed.body] as never)
    expect((await bea.get('/tasks')).body).toContainEqual(claimed.body)
    expect(claimIn(await bea.get(`/tasks/${taskId}?asOf=4`))).toEqual(shown)
    expect((await bea.get(`/tasks?projectId=${projectId}&asOf=4`)).body).toEqual([claimed.body] as never)
    const [event] = (await bea.get(`/projects/${projectId}/events?after=3`)).body
    expect(event).toMatchObject({ type: 'task.claimed', before: { claim: null }, after: { claim: shown } })
    expect(claimIn(await bea.patch(`/tasks/${taskId}`, { title: 'Ink' }))).toEqual(shown)
  })

  test('another account gets 409 with the holder and end of the claim; if the holder extends the claim, its seq stays the same', async () => {
    const { until } = claimIn(await claim()) as { until: string }
    const message = `Ada holds a claim on the task until ${until}`
    expectError(await claim(bea), 409, message)
    expectError(await release(bea), 409, message)
    const extended = claimIn(await claim(ada, 3_600)) as { until: string; seq: number }
    expect(extended.seq).toBe(4)
    expect(extended.until > until).toBe(true)
    expect(claimIn(await release())).toBe(null)
    expect(claimIn(await claim(bea))).toMatchObject({ by: { name: 'Bea' }, seq: 7 })
    expect(await typesAfter(3)).toEqual(['task.claimed', 'task.claimed', 'task.released', 'task.claimed'])
  })

  test('the ETag of a claimed task changes with the name of the holder, and matches in If-Match', async () => {
    const holder = await register(client, 'Cyd')
    await invite(ada, projectId, holder, 'EDITOR')
    const paths = [`/tasks/${taskId}`, `/tasks?projectId=${projectId}`]
    const etags = async () =>
      Promise.all(paths.map(async (path) => (await ada.get(path)).headers.get('etag')!))
    const claimed = await claim(holder)
    const before = await etags()
    expect(before[0]).toBe(claimed.headers.get('etag')!)
    for (const [n, path] of paths.entries())
      expect((await ada.get(path, { 'if-none-match': before[n]! })).status).toBe(304)
    await holder.patch('/auth/me', { name: 'Cyd Moore' })
    for (const [n, path] of paths.entries()) {
      const { status, text, headers } = await ada.get(path, { 'if-none-match': before[n]! })
      expect([status, text.includes('Cyd Moore')]).toEqual([200, true])
      expect(headers.get('etag')).not.toBe(before[n]!)
    }
    const [current] = await etags()
    const changed = await ada.patch(`/tasks/${taskId}`, { title: 'Ink' }, { 'if-match': current! })
    expect([changed.status, claimIn(changed)]).toEqual([200, claimIn(await ada.get(paths[0]!))])
    expect(claimIn(changed)).toMatchObject({ by: { name: 'Cyd Moore' } })
    expect((await etags())[0]).toBe(changed.headers.get('etag')!)
  })

  test('a release without a claim changes nothing', async () => {
    expect((await release()).status).toBe(200)
    expect(await typesAfter(3)).toEqual([])
  })

  test('DONE, a deletion and a move end the claim in their own event', async () => {
    await claim()
    expect(claimIn(await ada.patch(`/tasks/${taskId}`, { status: 'DONE' }))).toBe(null)
    expectError(await claim(), 409, 'A task that is DONE cannot be claimed')
    await ada.patch(`/tasks/${taskId}`, { status: 'TODO' })
    await claim()
    const other = await make(ada, '/projects', { name: 'Other' })
    expect(claimIn(await ada.patch(`/tasks/${taskId}`, { projectId: other.id }))).toBe(null)
    await claim()
    await ada.delete(`/tasks/${taskId}`)
    await ada.post(`/projects/${other.id}/undo`, { seq: 4 })
    expect(await claimNow()).toBe(null)
    expect(await faultsOf(sql)).toEqual([])
  })

  test('an undo ends a claim and never restores one', async () => {
    await claim()
    expect((await undo(4)).status).toBe(200)
    expect(await claimNow()).toBe(null)
    expectError(await undo(5), 409, 'The end of a claim cannot be undone: claim the task again')
    await claim()
    await claim()
    expectError(await undo(6), 409, /claim/)
    await ada.patch(`/tasks/${taskId}`, { status: 'DONE' })
    expect((await undo(8)).status).toBe(200)
    expect(await claimNow()).toBe(null)
    await claim()
    // The undo of the undo sets the status DONE again.
    expect((await undo(9)).status).toBe(200)
    expect(await claimNow()).toBe(null)
    expect(await faultsOf(sql)).toEqual([])
  })

  test('a batch can claim tasks, and each claim has the seq of its event', async () => {
    const operations = [
      { op: 'task.create', as: 'one', title: 'One' },
      { op: 'task.claim', id: taskId, leaseSeconds: 60 },
      { op: 'task.claim', id: '#one', leaseSeconds: 60 },
      { op: 'task.update', id: '#one', title: 'Two', was: { title: 'One' } },
    ]
    const { body } = await ada.post(`/projects/${projectId}/batch?return=full`, { operations })
    const { results } = body as unknown as { results: object[] }
    const by = { id: ada.id, name: 'Ada' }
    const seqs = [undefined, 5, 6, 6]
    for (const [n, seq] of seqs.entries()) if (seq) expect(results[n]).toMatchObject({ claim: { by, seq } })
  })

  test.each([
    {},
    { leaseSeconds: 9 },
    { leaseSeconds: 86_401 },
    { leaseSeconds: '60' },
    { leaseSeconds: 10.5 },
  ])('rejects the lease %p with 400', async (body) =>
    expectError(await ada.post(`/tasks/${taskId}/claim`, body), 400),
  )

  test('no response shows a claim that has ended, even before a worker has recorded the end', async () => {
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
    expect((await ada.get(`${list}&asOf=8&claimedBy=me`)).body).toHaveLength(3)
    expect((await ada.get(`${list}&asOf=8&claimedBy=none`)).text).toBe('[]')
    // The own claims count as ready.
    const ready = [ada, bea].map(async (by) => (await by.get(`${list}&asOf=8&ready=true`)).body.length)
    expect(await Promise.all(ready)).toEqual([3, 0])

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
})

const ended = 'The claim with this seq has ended'
let ids: ProjectParts
let claimedId = ''

const claimSeq = async (by: Person = editor, taskId = claimedId) => {
  const { body } = await by.post(`/tasks/${taskId}/claim`, { leaseSeconds: 60 })
  return (body as Body & { claim: { seq: number } }).claim.seq
}
const holding = (seq: number, taskId = claimedId) => ({ 'docket-if-claim': `${taskId} ${seq}` })

describe('if claim', () => {
  beforeEach(async () => {
    ids = await createFullProject(people, await register(client))
    claimedId = (await make(owner, '/tasks', { title: 'Claimed', projectId: ids.projectId })).id
  })

  test('a write needs the seq of a claim that is live and in the same project', async () => {
    const seq = await claimSeq()
    const change = (headers: Record<string, string>) =>
      owner.patch(`/tasks/${ids.taskId}`, { title: 'New' }, headers)
    expect((await change(holding(seq))).status).toBe(200)
    expect((await change(holding(seq, claimedId.toUpperCase()))).status).toBe(200)
    for (const headers of [holding(seq + 1), holding(seq, ids.taskId)])
      expectError(await change(headers), 412, ended)
    await editor.post(`/tasks/${claimedId}/claim`, { leaseSeconds: 600 })
    expect((await change(holding(seq))).status).toBe(200)
    const other = await make(owner, '/projects', { name: 'Other' })
    const elsewhere = await make(owner, '/tasks', { title: 'Other', projectId: other.id })
    expectError(await change(holding(await claimSeq(owner, elsewhere.id), elsewhere.id)), 412, ended)
    await editor.post(`/tasks/${claimedId}/release`)
    expectError(await change(holding(seq)), 412, ended)
    expect((await change(holding(await claimSeq()))).status).toBe(200)
    expectError(await change(holding(seq)), 412, ended)
  })

  test.each(['', 'x', '1 1', 'ID', 'ID x', 'ID -1', 'ID 1 1'])(
    'rejects the malformed header %p with 400',
    async (text) => {
      const header = { 'docket-if-claim': text.replace('ID', claimedId) }
      expectError(
        await owner.patch(`/tasks/${claimedId}`, { title: 'T' }, header),
        400,
        /^Docket-If-Claim must be/,
      )
    },
  )

  test('a batch checks the claim of its body, or of the header, before its first operation', async () => {
    const seq = await claimSeq()
    const run = (body: object, headers = {}) =>
      editor.post(`/projects/${ids.projectId}/batch`, { ...body, operations }, headers)
    const operations = [
      { op: 'task.update', id: claimedId, status: 'DONE' },
      { op: 'task.create', title: 'Next' },
    ]
    const ifClaim = { taskId: claimedId, seq }
    for (const wrong of [{ seq: seq + 1 }, { taskId: ids.taskId }, { taskId: 'x' }])
      expectError(await run({ ifClaim: { ...ifClaim, ...wrong } }), 412, ended)
    for (const wrong of [{}, { taskId: claimedId }, { ...ifClaim, x: 1 }])
      expectError(await run({ ifClaim: wrong }), 400)
    expect((await run({ ifClaim }, holding(seq))).status).toBe(200)
    expectError(await run({ ifClaim }), 412, ended)
    expectError(await run({}, holding(seq)), 412, ended)
  })

  test('a repeat with its Idempotency-Key returns the first response even after the end of the claim', async () => {
    const seq = await claimSeq()
    const headers = { ...holding(seq), 'idempotency-key': `done-${claimedId}` }
    const finish = () => editor.patch(`/tasks/${claimedId}`, { status: 'DONE' }, headers)
    const [first, second] = [await finish(), await finish()]
    expect([first.status, second.status, isReplay(second), second.text]).toEqual([200, 200, true, first.text])
    expectError(await editor.patch(`/tasks/${claimedId}`, { status: 'TODO' }, holding(seq)), 412, ended)
  })
})
