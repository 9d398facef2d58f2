import { expectError, faultsOf, invite, make, runBatch } from '../kit.ts'
import { attemptsIn, openQueue } from './queue-scene.ts'

const queue = await openQueue()
const { at, ada, bea, cyd, sql, service, add, claim, claimFor, events, next, patch } = queue
const { read, release, take, undo, version } = queue

const attempts = async (query = '', id?: string) => attemptsIn(await read(query, id))
const releases = () => events('types=task.released')

async function fail(times: number, id = at.taskId): Promise<void> {
  for (let n = 0; n < times; n++) {
    await claim(ada, 60, id)
    expect((await release(ada, { failed: true }, id)).status).toBe(200)
  }
}

test('a failed release counts an attempt, and its event has `failed` and the reason', async () => {
  expect(await attempts()).toBe(0)
  await claim()
  const answer = await release(ada, { failed: true, reason: ' The mould has a crack ' })
  expect([answer.status, attemptsIn(answer), await attempts()]).toEqual([200, 1, 1])
  const [event] = await releases()
  expect(event).toMatchObject({ failed: true, reason: 'The mould has a crack' } as never)
  expect([event!.before, event!.after]).toMatchObject([{ attempts: 0 }, { attempts: 1 }])
  expect(Object.keys(event!.after!).sort()).toEqual(['attempts', 'claim', 'updatedAt'])
  await fail(1)
  const past = [event!.seq - 1, event!.seq].map((seq) => attempts(`?asOf=${seq}`))
  expect([await attempts(), ...(await Promise.all(past))]).toEqual([2, 0, 1])
  expect(await faultsOf(sql)).toEqual([])
})

test('a normal release, and a failed release without a live claim, count nothing', async () => {
  for (const body of [undefined, {}, { failed: false }, { reason: 'Lunch' }]) {
    await claim()
    expect((await release(ada, body)).status).toBe(200)
  }
  expect((await release(ada, { failed: true })).status).toBe(200)
  await claimFor(0)
  expect((await release(ada, { failed: true })).status).toBe(200)
  expect(await attempts()).toBe(0)
  const shown = (await releases()) as unknown as { failed: boolean; reason: string | null }[]
  expect(shown.map(({ failed, reason }) => [failed, reason])).toEqual([
    ...[1, 2, 3].map(() => [false, null]),
    [false, 'Lunch'],
  ])
})

test('rejects an invalid release with 400; a reason may have 2,000 characters', async () => {
  await claim()
  const wrong = [{ failed: 'true' }, { failed: 1 }, { reason: 7 }, { reason: 'x'.repeat(2_001) }]
  for (const body of [...wrong, { failed: true, reason: 'a\0b' }, { failled: true }])
    expectError(await release(ada, body), 400)
  expect(await releases()).toEqual([])
  expect((await release(ada, { failed: true, reason: '𝄞'.repeat(2_000) })).status).toBe(200)
})

test('an expired claim counts when the next claim records its end', async () => {
  await claimFor(0)
  expect(await attempts()).toBe(0)
  expect(attemptsIn(await claim(bea))).toBe(1)
  const [event] = await events('types=task.claim_expired')
  expect([event!.before, event!.after]).toMatchObject([{ attempts: 0 }, { attempts: 1 }])
  await release(bea)
  await claimFor(0)
  expect(attemptsIn(await next())).toBe(2)
  expect(await faultsOf(sql)).toEqual([])
})

test('DONE, a deletion, a move, an undo and the removal of the holder count nothing', async () => {
  await fail(1)
  await claim()
  for (const status of ['DONE', 'TODO']) await patch({ status })
  await claim()
  expect((await undo(await version())).status).toBe(200)
  await claim()
  await ada.delete(`/tasks/${at.taskId}`)
  await undo(await version())
  expect(await attempts()).toBe(1)
  await claim()
  const other = await make(ada, '/projects', { name: 'Other' })
  expect(attemptsIn(await patch({ projectId: other.id }))).toBe(1)
  const { id: memberId } = await invite(ada, other.id, cyd, 'EDITOR')
  expect((await claim(cyd)).status).toBe(200)
  const input = { projectId: other.id, userId: cyd.id, ids: [at.taskId] }
  await ada.delete(`/projects/${other.id}/members/${memberId}`)
  await service.services.run({ name: 'task.unassign', input, caller: { userId: ada.id } })
  expect(await attempts()).toBe(1)
  expect(attemptsIn(await patch({ projectId: at.projectId, attempts: 0 }))).toBe(0)
  expect(await faultsOf(sql)).toEqual([])
})

test('claim-next skips the tasks that have had `maxAttempts`, also if the last claim has just expired', async () => {
  const [second, third] = [(await add('Second')).id, (await add('Third')).id]
  await fail(2)
  await fail(1, second)
  const takeAndRelease = async (maxAttempts?: number) => {
    const { status, body } = await next({ maxAttempts })
    if (status === 200) await release(ada, {}, body.id)
    return status === 200 ? body.title : status
  }
  const taken = []
  for (const max of [undefined, 3, 2, 1]) taken.push(await takeAndRelease(max))
  expect(taken).toEqual(['Draw', 'Draw', 'Second', 'Third'])
  await claimFor(0, third)
  expect([await takeAndRelease(1), await takeAndRelease(2)]).toEqual([204, 'Second'])
  const operations = [{ maxAttempts: 2 }, {}].map((filter) => ({
    ...{ op: 'task.claim_next', leaseSeconds: 60 },
    ...filter,
  }))
  const claimed = (await runBatch(ada, at.projectId, operations)).map(({ id }) => id)
  expect(claimed).toEqual([second, at.taskId])
  for (const id of claimed) await release(ada, {}, id)
  await claim(ada, 60, second)
  await runBatch(ada, at.projectId, [
    { op: 'task.release', id: second, failed: true },
    { op: 'task.claim_next', leaseSeconds: 60, maxAttempts: 2 },
    { op: 'task.release', id: third, failed: true, reason: 'In a batch' },
  ])
  expect([await attempts('', second), await attempts('', third), await take({ maxAttempts: 2 })]).toEqual([
    2, 2, 204,
  ])
  for (const maxAttempts of [0, -1, 1.5, '3', 3_000_000_000]) expectError(await next({ maxAttempts }), 400)
})

test('attempts: 0 resets the number, and an undo restores it', async () => {
  await fail(2)
  const reset = await patch({ attempts: 0 })
  expect([reset.status, attemptsIn(reset)]).toEqual([200, 0])
  const [event] = await events('types=task.updated')
  expect([event!.before, event!.after]).toMatchObject([{ attempts: 2 }, { attempts: 0 }])
  expect((await patch({ attempts: 0 })).headers.get('etag')).toBe(reset.headers.get('etag'))
  expect((await undo(event!.seq)).status).toBe(200)
  expect(await attempts()).toBe(2)
  const byBea = (attempts: number) => bea.patch(`/tasks/${at.taskId}`, { attempts })
  expectError(await byBea(-1), 400, /^attempts must be a whole number/)
  await ada.patch(`/projects/${at.projectId}/members/${at.memberId}/role`, { role: 'VIEWER' })
  expectError(await byBea(0), 403)
  const was = { attempts: 2 }
  await runBatch(ada, at.projectId, [{ op: 'task.update', id: at.taskId, was, attempts: 0 }])
  expect(await attempts()).toBe(0)
  expect(await faultsOf(sql)).toEqual([])
})

test('a body with `number`, other values, creates and upserts do not change the attempts', async () => {
  await fail(2)
  const { body: row } = await read()
  await fail(1)
  for (const body of [row, { ...row, attempts: 0 }, { attempts: 0, number: 99 }, { attempts: 7 }])
    expect((await patch(body)).status).toBe(200)
  const operation = { op: 'task.update', id: at.taskId, number: 1, attempts: 0, title: 'Ink' }
  await runBatch(ada, at.projectId, [operation])
  await patch({ externalId: 'X' })
  const upsert = { title: 'Upserted', attempts: 0 }
  await ada.call('PUT', `/projects/${at.projectId}/tasks/external/X`, upsert)
  expect(await attempts()).toBe(3)
  expect(attemptsIn({ body: await add('New', { attempts: 5 }) })).toBe(0)
})

test('attempts do not prevent the undo of the creation', async () => {
  await fail(1)
  const [created] = await events('types=task.created')
  expect((await undo(created!.seq)).status).toBe(200)
})
