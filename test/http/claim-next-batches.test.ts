import { type Body, expectError, invite, make, openScene, upTo } from '../kit.ts'

const { ada, bea } = await openScene(['Ada', 'Bea'])
let projectId = ''

beforeEach(async () => {
  projectId = (await make(ada, '/projects', { name: 'Queue' })).id
  await invite(ada, projectId, bea, 'EDITOR')
})

const add = (title: string, fields: object = {}) => make(ada, '/tasks', { projectId, title, ...fields })

test('a batch can claim tasks that the same batch creates, and is rejected if no task is ready', async () => {
  const run = (operations: object[]) => ada.post(`/projects/${projectId}/batch?return=full`, { operations })
  const claimNext = (as: string) => ({ op: 'task.claim_next', as, leaseSeconds: 60 })
  const create = (title: string, fields = {}) => ({ op: 'task.create', title, ...fields })
  const { body } = await run([
    create('One'),
    create('High', { priority: 'HIGH' }),
    claimNext('first'),
    claimNext('second'),
    { op: 'comment.create', taskId: '#first', text: 'Begun' },
  ])
  const { results } = body as unknown as { results: (Body & { claim: { seq: number } })[] }
  expect(results.slice(2, 4).map(({ title, claim }) => [title, claim.seq])).toEqual([
    ['High', 5],
    ['One', 6],
  ])
  expect(results[4]!.taskId).toBe(results[2]!.id)
  expectError(
    await run([create('Last'), claimNext('a'), claimNext('b')]),
    409,
    'operations[2]: No task is ready',
  )
  expect((await ada.post(`/projects/${projectId}/claim-next`, { leaseSeconds: 60 })).status).toBe(204)
})

test('a batch that finishes a task claims the task that it has made ready', async () => {
  const first = await add('First')
  const second = await add('Second', { blockedByIds: [first.id] })
  await add('Third', { blockedByIds: [first.id, second.id] })
  const finish = ({ id }: Body) => ({ op: 'task.update', id, status: 'DONE' })
  const run = (operations: object[]) =>
    ada.post(`/projects/${projectId}/batch?return=full`, {
      operations: [...operations, { op: 'task.claim_next', leaseSeconds: 60 }],
    })
  const titles = async (operations: object[]) =>
    ((await run(operations)).body as unknown as { results: Body[] }).results.map(({ title }) => title)
  expectError(await run([{ op: 'task.claim', id: first.id, leaseSeconds: 60 }]), 409)
  expect(await titles([finish(first)])).toEqual(['First', 'Second'])
  expect(await titles([finish(second)])).toEqual(['Second', 'Third'])
})

/** The process then no longer has the rows of the project's tasks in memory. */
async function unloadRows(): Promise<void> {
  const { id: otherId } = await make(ada, '/projects', { name: 'Other' })
  const { id } = await make(ada, '/tasks', { projectId: otherId, title: 'Moved', status: 'DONE' })
  expect((await ada.patch(`/tasks/${id}`, { projectId })).status).toBe(200)
}

test('a batch does not claim a task that the same batch has blocked by an open task', async () => {
  const blocker = await add('Blocker', { status: 'IN_PROGRESS', priority: 'LOW' })
  const done = await add('Finished', { status: 'DONE' })
  const [blocked, ready] = [await add('Blocked'), await add('Ready')]
  await bea.post(`/tasks/${blocker.id}/claim`, { leaseSeconds: 60 })
  await unloadRows()
  const operations = [
    { op: 'task.update', id: blocked.id, addBlockedByIds: [blocker.id] },
    { op: 'task.update', id: ready.id, addBlockedByIds: [done.id] },
    { op: 'task.claim_next', leaseSeconds: 60 },
  ]
  const { body } = await ada.post(`/projects/${projectId}/batch?return=full`, { operations })
  expect((body as unknown as { results: Body[] }).results[2]!.title).toBe('Ready')
})

test('a batch that finishes a task by its external id claims the task that it has made ready', async () => {
  const first = await add('First', { externalId: 'A' })
  await add('Second', { blockedByIds: [first.id] })
  await unloadRows()
  const operations = [
    { op: 'task.upsert', externalId: 'A', status: 'DONE' },
    { op: 'task.claim_next', leaseSeconds: 60 },
  ]
  const { body } = await ada.post(`/projects/${projectId}/batch?return=full`, { operations })
  expect(body).toMatchObject({ results: [{ title: 'First' }, { title: 'Second' }] })
})

test.each([20, 150])(
  'claims the first ready task after the same batch has finished %p tasks',
  async (finished) => {
    const batch = (operations: object[]) => ada.post(`/projects/${projectId}/batch`, { operations })
    const create = (title: string) => ({ op: 'task.create', title })
    const created = await batch([
      ...upTo(finished).map((n) => create(`T${n}`)),
      create('First'),
      create('Second'),
    ])
    const ids = (created.body as unknown as { results: { id: string }[] }).results.map(({ id }) => id)
    const finish = ids.slice(0, finished).map((id) => ({ op: 'task.update', id, status: 'DONE' }))
    const low = { op: 'task.create', title: 'Low', priority: 'LOW' }
    const claimed = await batch([...finish, low, { op: 'task.claim_next', leaseSeconds: 60 }])
    expect([
      claimed.status,
      (claimed.body as unknown as { results: { id: string }[] }).results.at(-1)?.id,
    ]).toEqual([200, ids[finished]])
  },
)
