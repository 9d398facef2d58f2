import { claimEnded } from '../../src/commands/if-claim.ts'
import { createFullProject, expectError, isReplay, make, openTeam, register } from '../kit.ts'
import type { Body, Person, ProjectParts } from '../kit.ts'
import { endpoints } from './endpoints.ts'

const { client, owner, editor, people, sql } = await openTeam()
const ended = claimEnded().message
let ids: ProjectParts
let claimedId = ''

beforeEach(async () => {
  ids = await createFullProject(people, await register(client))
  claimedId = (await make(owner, '/tasks', { title: 'Claimed', projectId: ids.projectId })).id
})

const claim = async (by: Person = editor, taskId = claimedId) => {
  const { body } = await by.post(`/tasks/${taskId}/claim`, { leaseSeconds: 60 })
  return (body as Body & { claim: { seq: number } }).claim.seq
}
const holding = (seq: number, taskId = claimedId) => ({ 'docket-if-claim': `${taskId} ${seq}` })
const version = async () => {
  const [row] = await sql<{ version: number }[]>`
    select version::float8 as version from streams where project_id = ${ids.projectId}`
  return row!.version
}

const writes = endpoints.filter(({ method, title }) => method !== 'GET' && !/test a webhook/.test(title))

test.each(writes)(
  '$title: $method runs while the claim is live, and gets 412 after its end',
  async (write) => {
    const { method, path, body, status } = write
    const [seq, before] = [await claim(owner), await version()]
    const send = (of: number) =>
      (write.resource === 'Comment' && method === 'PATCH' ? editor : owner).call(
        method,
        path(ids),
        body?.(ids),
        holding(of),
      )
    expectError(await send(seq - 1), 412, ended)
    expect(await version()).toBe(before)
    expect([write.title, (await send(seq)).status]).toEqual([write.title, status])
  },
)

test('a write needs the seq of a claim that is live and in the same project', async () => {
  const seq = await claim()
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
  expectError(await change(holding(await claim(owner, elsewhere.id), elsewhere.id)), 412, ended)
  await editor.post(`/tasks/${claimedId}/release`)
  expectError(await change(holding(seq)), 412, ended)
  expect((await change(holding(await claim()))).status).toBe(200)
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
  const seq = await claim()
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
  const seq = await claim()
  const headers = { ...holding(seq), 'idempotency-key': `done-${claimedId}` }
  const finish = () => editor.patch(`/tasks/${claimedId}`, { status: 'DONE' }, headers)
  const [first, second] = [await finish(), await finish()]
  expect([first.status, second.status, isReplay(second), second.text]).toEqual([200, 200, true, first.text])
  expectError(await editor.patch(`/tasks/${claimedId}`, { status: 'TODO' }, holding(seq)), 412, ended)
})
