import { expectError, faultsOf, forFile, invite, isReplay, make, openScene, openTestService } from '../kit.ts'
import { runBatch, unknownId, upTo } from '../kit.ts'
import type { Answer, Body, Person } from '../kit.ts'

const { ada, bea, service, sql } = await openScene(['Ada', 'Bea'])
let projectId = ''

beforeEach(async () => {
  projectId = (await make(ada, '/projects', { name: 'Queue' })).id
  await invite(ada, projectId, bea, 'EDITOR')
})

const add = (title: string, fields: object = {}) => make(ada, '/tasks', { projectId, title, ...fields })
const next = (body: object = {}, by: Person = ada, headers = {}) =>
  by.post(`/projects/${projectId}/claim-next`, { leaseSeconds: 60, ...body }, headers)
const seen = ({ status, body }: Answer) => (status === 200 ? body.title : status)
const take = async (body: object = {}) => seen(await next(body))
async function takeAll(body: object = {}): Promise<unknown[]> {
  const taken: unknown[] = []
  for (;;) {
    const one = await take(body)
    if (one === 204) return taken
    taken.push(one)
  }
}

const version = async () => Number((await ada.get(`/projects/${projectId}`)).headers.get('docket-version'))

describe('claim next', () => {
  test('claims ready tasks in the order of priority and position, and returns 204 if no task is ready', async () => {
    await add('Low', { priority: 'LOW' })
    const one = await add('One')
    await add('Two', { before: one.id })
    await add('High', { priority: 'HIGH' })
    await add('Done', { status: 'DONE' })
    const claimed = await next({}, bea)
    expect(claimed.body).toMatchObject({
      title: 'High',
      claim: { by: { id: bea.id, name: 'Bea' }, seq: 8 },
    } as never)
    expect(claimed.headers.get('etag')).toBe(
      (await bea.get(`/tasks/${claimed.body.id}`)).headers.get('etag')!,
    )
    expect(await takeAll()).toEqual(['Two', 'One', 'Low'])
    const none = await next()
    expect([none.status, none.text]).toEqual([204, ''])
  })

  test('skips tasks with a live claim, also of the caller, and tasks with an open blocker', async () => {
    const [first, second] = [await add('First'), await add('Second')]
    await add('Blocked', { blockedByIds: [first.id, second.id] })
    await ada.post(`/tasks/${first.id}/claim`, { leaseSeconds: 60 })
    expect(await takeAll()).toEqual(['Second'])
    await ada.patch(`/tasks/${first.id}`, { status: 'DONE' })
    expect(await take()).toBe(204)
    await ada.delete(`/tasks/${second.id}`)
    expect(await takeAll()).toEqual(['Blocked'])
  })

  test('a released task, a reopened task and a task whose claim is undone are claimed again', async () => {
    const { id } = await add('One')
    for (const end of [
      () => ada.post(`/tasks/${id}/release`),
      async () => {
        for (const status of ['DONE', 'TODO']) await ada.patch(`/tasks/${id}`, { status })
      },
      async () => ada.post(`/projects/${projectId}/undo`, { seq: await version() }),
    ]) {
      expect(await takeAll()).toEqual(['One'])
      await end()
    }
    expect(await takeAll()).toEqual(['One'])
    expect(await faultsOf(sql)).toEqual([])
  })

  test('filters by all of the labels, any of the labels, priority and assignee', async () => {
    const label = async (name: string) => (await make(ada, `/projects/${projectId}/labels`, { name })).id
    const [a, b, c] = [await label('a'), await label('b'), await label('c')]
    await add('A', { labelIds: [a] })
    await add('AB', { labelIds: [a, b], priority: 'LOW' })
    await add('C', { labelIds: [c], assigneeId: bea.id })
    await add('None', { assigneeId: bea.id, priority: 'LOW' })
    expect(await take({ labels: [b, a] })).toBe('AB')
    expect(await take({ labels: [a, b] })).toBe(204)
    expect(await take({ anyLabel: [b, c] })).toBe('C')
    expect(await take({ assigneeId: bea.id, priority: 'HIGH' })).toBe(204)
    expect(await take({ assigneeId: bea.id, priority: 'LOW', labels: [] })).toBe('None')
    expect(await takeAll({ anyLabel: [] })).toEqual(['A'])
    await ada.delete(`/labels/${c}`)
    for (const name of ['labels', 'anyLabel'])
      for (const id of [unknownId, 'x', c])
        expectError(await next({ [name]: [id] }), 400, `${name} must be the ids of labels in the project`)
  })

  test.each([{ wait: 0 }, { wait: 26 }, { wait: '5' }, { leaseSeconds: 9 }, { assigneeId: 'me' }])(
    'rejects %p with 400',
    async (body) => expectError(await next(body), 400),
  )

  test('a repeat with its Idempotency-Key returns the same task; a 204 response is not stored', async () => {
    const headers = { 'idempotency-key': `next-${projectId}` }
    for (const wait of [undefined, 1])
      expect((await next({ wait }, ada, { 'idempotency-key': `w-${projectId}-${wait}` })).status).toBe(204)
    expect((await next({}, ada, headers)).status).toBe(204)
    await add('One')
    await add('Two')
    const [first, second] = [await next({}, ada, headers), await next({}, ada, headers)]
    expect([seen(first), second.text, isReplay(first), isReplay(second)]).toEqual([
      'One',
      first.text,
      false,
      true,
    ])
  })

  test('concurrent requests with one Idempotency-Key wait for the same task', async () => {
    const headers = { 'idempotency-key': `both-${projectId}` }
    const waiting = upTo(4).map(() => next({ wait: 25 }, ada, headers))
    for (const n of upTo(4)) await add(`T${n}`)
    const answers = await Promise.all(waiting)
    expect(new Set(answers.map(({ text }) => text)).size).toBe(1)
    expect(await takeAll()).toHaveLength(3)
  })

  test('concurrent requests take different tasks', async () => {
    const operations = upTo(60).map((n) => ({ op: 'task.create', title: `T${n}` }))
    await ada.post(`/projects/${projectId}/batch`, { operations })
    const answers = await Promise.all(upTo(64).map((n) => next({}, n % 2 ? ada : bea)))
    const titles = answers.map(seen)
    expect(titles.filter((one) => one === 204)).toHaveLength(4)
    expect(new Set(titles.filter((one) => one !== 204)).size).toBe(60)
    expect(await faultsOf(sql)).toEqual([])
  })

  test('waits until a task is ready, and takes no slot of the account meanwhile', async () => {
    const waiting = upTo(20).map((n) => next({ wait: 25 }, n % 2 ? ada : bea))
    for (const n of upTo(20)) await add(`T${n}`)
    const titles = (await Promise.all(waiting)).map(seen)
    expect(titles.toSorted()).toEqual(
      upTo(20)
        .map((n) => `T${n}`)
        .toSorted() as never,
    )
    expect((await next({ wait: 1 })).status).toBe(204)
  })

  test('waits until a blocker is done, and ends when the caller loses the role', async () => {
    const first = await add('First')
    await add('Second', { blockedByIds: [first.id] })
    expect(await take()).toBe('First')
    const waiting = next({ wait: 25 }, bea)
    await ada.patch(`/tasks/${first.id}`, { status: 'DONE' })
    expect(seen(await waiting)).toBe('Second')
    const rejected = next({ wait: 25 }, bea)
    const [member] = (await ada.get(`/projects/${projectId}/members`)).body
    await ada.delete(`/projects/${projectId}/members/${member!.id}`)
    expect((await rejected).status).toBe(404)
  })
})

/** The process then no longer has the rows of the project's tasks in memory. */
async function unloadRows(): Promise<void> {
  const { id: otherId } = await make(ada, '/projects', { name: 'Other' })
  const { id } = await make(ada, '/tasks', { projectId: otherId, title: 'Moved', status: 'DONE' })
  expect((await ada.patch(`/tasks/${id}`, { projectId })).status).toBe(200)
}

describe('claim next batches', () => {
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
})

test('hands out a task whose claim has ended, before the end is recorded, only if the task is ready and fits', async () => {
  const [label, other] = (await runBatch(ada, projectId, [
    { op: 'label.create', name: 'a' },
    { op: 'label.create', name: 'b' },
  ])) as [Body, Body]
  const open = await add('Open')
  const fitting = { labelIds: [label.id], priority: 'HIGH', assigneeId: bea.id }
  const claimed: Record<string, object> = {
    Blocked: { blockedByIds: [open.id] },
    'Other label': { labelIds: [other.id] },
    'Other priority': { priority: 'LOW' },
    'Other assignee': { assigneeId: ada.id },
    Fitting: {},
  }
  for (const [title, fields] of Object.entries(claimed)) {
    const { id } = await add(title, { ...fitting, ...fields })
    // The API allows no lease that ends at once.
    await service.services.run({
      name: 'task.claim',
      input: { id, leaseSeconds: 0 },
      caller: { userId: ada.id },
    })
  }
  // This process has no task in memory, so that its decision depends on what it finds in Postgres.
  const second = await forFile(openTestService(service.env))
  const fresh = { ...bea, ...second.client.as(bea.token) }
  const list = async (query: string) =>
    ((await fresh.get(`/tasks?projectId=${projectId}&${query}`)).body as Body[])
      .map(({ title }) => title)
      .sort()
  const ready = ['Fitting', 'Open', 'Other assignee', 'Other label', 'Other priority']
  expect([await list('ready=true'), await list('claimedBy=none')]).toEqual([ready, ['Blocked', ...ready]])
  expect(await list(`claimedBy=${ada.id}`)).toEqual([])
  const filter = { anyLabel: [label.id], priority: 'HIGH', assigneeId: bea.id }
  expect([seen(await next(filter, fresh)), await take(filter)]).toEqual(['Fitting', 204])
  expect((await takeAll()).sort()).toEqual(ready.slice(1))
  expect(await faultsOf(sql)).toEqual([])
})

test('a task that becomes ready while a request begins to wait is claimed at once', async () => {
  const turns = 60
  for (let turn = 0; turn < turns; turn++) {
    const { id } = await make(ada, '/projects', { name: 'Turn' })
    const waiting = ada.post(`/projects/${id}/claim-next`, { leaseSeconds: 60, wait: 25 })
    for (let n = 0; n < turn; n++) await new Promise(setImmediate)
    await make(ada, '/tasks', { projectId: id, title: 'New' })
    expect([turn, seen(await waiting)]).toEqual([turn, 'New'])
  }
})
