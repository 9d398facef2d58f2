import { ForbiddenError, PreconditionFailedError } from '../../clients/typescript/src/errors.ts'
import type { Task } from '../../clients/typescript/src/schemas.ts'
import { ClaimedTask } from '../../clients/typescript/src/work/claimed-task.ts'
import { invite, register, upTo } from '../kit.ts'
import { openClientScene } from './scene.ts'

const { service, ada, docket, open, send } = await openClientScene()

async function newQueue(tasks: number) {
  const { id } = await docket.projects.create({ name: 'Engine' })
  for (const n of upTo(tasks)) await docket.tasks.create({ projectId: id, title: `T${n}` })
  const list = () => docket.tasks.list({ projectId: id }).all()
  return { id, project: docket.project(id), list }
}

test('claimNext returns a claimed task, and undefined when no task is ready', async () => {
  const { project, id } = await newQueue(1)
  const task = await project.claimNext({ leaseSeconds: 300, priority: 'MEDIUM' })
  expect(task).toMatchObject({ title: 'T1', claim: { by: { id: ada.id } } })
  expect(await project.claimNext({ leaseSeconds: 300 })).toBeUndefined()
  const waiting = project.claimNext({ leaseSeconds: 300, wait: 20 })
  await docket.tasks.create({ projectId: id, title: 'T2' })
  expect(await waiting).toMatchObject({ title: 'T2' })
})

test('claimNext has a default lease, and accepts its options among the filters', async () => {
  const { project } = await newQueue(1)
  const given = { idempotencyKey: 'first', signal: new AbortController().signal }
  const task = await project.claimNext(given)
  expect(task?.title).toBe('T1')
  expect(await project.claimNext(given)).toEqual(task)
  expect(await project.claimNext()).toBeUndefined()
})

test('rejects a concurrency that is not a whole number of at least 1, and a wrong lease', async () => {
  const { project } = await newQueue(0)
  for (const concurrency of [0, -1, 1.5, NaN])
    await expect(project.work(() => {}, { concurrency })).rejects.toThrow(RangeError)
  const short = project.work(() => {}, { leaseSeconds: 1 })
  await expect(short).rejects.toThrow('leaseSeconds must be a whole number of seconds from 10 to 86400')
})

test('a worker runs the handler once for each task, at most `concurrency` at a time, and sets the tasks DONE', async () => {
  const { project, list } = await newQueue(8)
  const stop = new AbortController()
  const titles: string[] = []
  let [running, most] = [0, 0]
  await project.work(
    async ({ title, claim }) => {
      most = Math.max(most, ++running)
      expect(claim?.by.id).toBe(ada.id)
      await Promise.resolve()
      running--
      if (titles.push(title) === 8) setTimeout(() => stop.abort())
    },
    { concurrency: 3, signal: stop.signal },
  )
  expect(titles.sort()).toEqual(upTo(8).map((n) => `T${n}`))
  expect(most).toBeLessThanOrEqual(3)
  const done = (await list()).filter(({ status, claim }) => status === 'DONE' && !claim)
  expect(done).toHaveLength(8)
})

test('a failing handler releases the task, and the worker continues', async () => {
  const { project, list } = await newQueue(2)
  const stop = new AbortController()
  const attempts: string[] = []
  const failures: unknown[] = []
  const failure = new Error('No ink')
  await project.work(
    ({ title }) => {
      attempts.push(title)
      if (attempts.length === 1) throw failure
      if (attempts.length === 3) setTimeout(() => stop.abort())
    },
    { signal: stop.signal, onError: (...given) => failures.push(given) },
  )
  expect(attempts).toEqual(['T1', 'T1', 'T2'])
  expect(failures).toMatchObject([[failure, { title: 'T1' }]])
  expect((await list()).map(({ status, claim }) => [status, claim])).toEqual([
    ['DONE', null],
    ['DONE', null],
  ])
})

test('a failing handler counts an attempt with the error as reason, and `maxAttempts` skips the task', async () => {
  const { id, project, list } = await newQueue(2)
  const stop = new AbortController()
  const reason = `No ink${'!'.repeat(3_000)}\0\ud800`
  const seen: string[] = []
  await project.work(
    ({ title }) => {
      seen.push(title)
      if (title === 'T1') throw new Error(reason)
      setTimeout(() => stop.abort())
    },
    { signal: stop.signal, maxAttempts: 2, onError: () => {} },
  )
  expect(seen).toEqual(['T1', 'T1', 'T2'])
  expect(await list()).toMatchObject([
    { status: 'TODO', attempts: 2 },
    { status: 'DONE', attempts: 0 },
  ])
  expect(await docket.tasks.list({ projectId: id, minAttempts: 2 }).all()).toHaveLength(1)
  const events = await docket.events.list({ projectId: id, types: 'task.released' }).all()
  expect(events).toMatchObject(upTo(2).map(() => ({ failed: true, reason: reason.slice(0, 2_000) })))
  const dead = (await list())[0]!
  await docket.tasks.update(dead.id, { attempts: 0 })
  const claimed = (await project.claimNext({ maxAttempts: 1 }))!
  await docket.tasks.release(claimed.id, { failed: true, ifClaim: claimed })
  expect((await docket.tasks.get(dead.id)).attempts).toBe(1)
})

test('a worker that stops aborts its handlers, waits for them and releases their tasks', async () => {
  const { project, list } = await newQueue(3)
  const stop = new AbortController()
  let [started, ended] = [0, 0]
  await project.work(
    async (_, { signal }) => {
      const aborted = new Promise((resolve) => signal.addEventListener('abort', resolve))
      if (++started === 2) stop.abort(new Error('stopped'))
      await aborted
      ended++
      if (ended === 1) throw signal.reason
    },
    { concurrency: 2, signal: stop.signal, onError: () => expect.unreachable() },
  )
  expect(ended).toBe(2)
  expect((await list()).map(({ status, claim, attempts }) => [status, claim, attempts])).toEqual(
    upTo(3).map(() => ['TODO', null, 0]),
  )
})

test('a worker releases a task that it claims while it stops', async () => {
  const { id, list } = await newQueue(1)
  const stop = new AbortController()
  const stopping = open({
    async fetch(url, init) {
      const response = await send(url, init)
      if (url.endsWith('/claim-next')) stop.abort()
      return response
    },
  })
  await stopping.project(id).work(() => expect.unreachable(), { signal: stop.signal })
  expect(await list()).toMatchObject([{ status: 'TODO', claim: null }])
})

test('a handler may end its claim itself, but cannot write after the end of its claim', async () => {
  const { project, list } = await newQueue(1)
  const stop = new AbortController()
  let runs = 0
  await project.work(
    async (task) => {
      // The task is ready again, because the worker has not set the task to DONE.
      if (++runs === 2) return stop.abort()
      await docket.tasks.update(task.id, { title: 'Drawn' }, { ifClaim: task })
      await docket.tasks.release(task.id)
      const write = docket.tasks.update(task.id, { title: 'Late' }, { ifClaim: task })
      await expect(write).rejects.toBeInstanceOf(PreconditionFailedError)
    },
    { signal: stop.signal },
  )
  expect(await list()).toMatchObject([{ title: 'Drawn', status: 'TODO', claim: null }])
})

test('if the task cannot be set to DONE, the worker reports the error and releases the task', async () => {
  const { id, list } = await newQueue(1)
  const stop = new AbortController()
  const [failures, statuses]: [unknown[], (string | undefined)[]] = [[], []]
  const broken = open({
    async fetch(url, init) {
      const isFirst = init.method === 'PATCH' && failures.length === 0
      return isFirst ? Response.json({ message: 'Broken' }, { status: 500 }) : send(url, init)
    },
  })
  await broken.project(id).work(
    async () => {
      statuses.push((await list())[0]?.status)
      if (statuses.length === 2) setTimeout(() => stop.abort())
    },
    { signal: stop.signal, onError: (error) => failures.push(error) },
  )
  expect(failures).toMatchObject([{ status: 500, message: 'Broken' }])
  expect(statuses).toEqual(['TODO', 'TODO'])
  expect(await list()).toMatchObject([{ status: 'DONE', claim: null }])
})

test.each([
  ['goes on after it has set its task DONE', 'DONE', false],
  ['is aborted when another worker has its task', 'TODO', true],
])('a handler %s', async (_, status, isLost) => {
  const task = { id: '1', claim: { seq: 1 } } as Task
  const reads = Promise.withResolvers<void>()
  const fetch = async (_: string, { method }: RequestInit) => {
    if (method === 'POST') return Response.json({ message: 'The claim has ended' }, { status: 412 })
    reads.resolve()
    return Response.json({ ...task, status })
  }
  const claimed = new ClaimedTask(open({ fetch }).transport, task, 30)
  await reads.promise
  await claimed.release()
  expect(claimed.lost.aborted).toBe(isLost)
})

test('a worker without rights throws', async () => {
  const { id } = await newQueue(1)
  const grace = await register(service.client, 'Grace')
  await invite(ada, id, grace, 'VIEWER')
  const work = open({ token: grace.token! })
    .project(id)
    .work(() => {}, { concurrency: 3 })
  await expect(work).rejects.toBeInstanceOf(ForbiddenError)
})
