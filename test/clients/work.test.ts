import { ForbiddenError, PreconditionFailedError } from '../../clients/typescript/src/errors.ts'
import { ClaimLostError } from '../../clients/typescript/src/work/claimed-task.ts'
import type { Handler, WorkOptions } from '../../clients/typescript/src/work/work.ts'
import { eventually, upTo } from '../kit.ts'
import { openClientScene } from './scene.ts'

const { ada, docket, open, send, newProject, join } = await openClientScene()

/** Runs a worker that stops when `count` handlers have ended. */
async function run(
  projectId: string,
  count: number,
  handler: Handler,
  options: WorkOptions = {},
  by = docket,
) {
  const stop = new AbortController()
  let ended = 0
  const counted: Handler = async (...given) => {
    try {
      await handler(...given)
    } finally {
      if (++ended === count) setTimeout(() => stop.abort())
    }
  }
  await by.project(projectId).work(counted, { signal: stop.signal, ...options })
}

test('claimNext returns a claimed task, and undefined when no task is ready', async () => {
  const { project, id } = await newProject(1)
  const given = { idempotencyKey: 'first', signal: new AbortController().signal }
  const task = await project.claimNext({ ...given, leaseSeconds: 300, priority: 'MEDIUM' })
  expect(task).toMatchObject({ title: 'T1', claim: { by: { id: ada.id } } })
  expect(await project.claimNext({ ...given, leaseSeconds: 300, priority: 'MEDIUM' })).toEqual(task)
  expect(await project.claimNext()).toBeUndefined()
  const waiting = project.claimNext({ wait: 20 })
  await docket.tasks.create({ projectId: id, title: 'T2' })
  expect(await waiting).toMatchObject({ title: 'T2' })
})

test('rejects a concurrency that is not a whole number of at least 1, a wrong lease, and a caller without rights', async () => {
  const { id, project } = await newProject()
  for (const concurrency of [0, -1, 1.5, NaN])
    await expect(project.work(() => {}, { concurrency })).rejects.toThrow(RangeError)
  const short = project.work(() => {}, { leaseSeconds: 1 })
  await expect(short).rejects.toThrow('leaseSeconds must be a whole number from 10 to 86400')
  const grace = await join(id, 'Grace', 'VIEWER')
  const work = grace.docket.project(id).work(() => {}, { concurrency: 3 })
  await expect(work).rejects.toBeInstanceOf(ForbiddenError)
})

test('a worker runs the handler once for each task, at most `concurrency` at a time, and sets the tasks DONE', async () => {
  const { id, list } = await newProject(8)
  const titles: string[] = []
  let [running, most] = [0, 0]
  const handler: Handler = async ({ title, claim }) => {
    most = Math.max(most, ++running)
    expect(claim?.by.id).toBe(ada.id)
    await Promise.resolve()
    running--
    titles.push(title)
  }
  await run(id, 8, handler, { concurrency: 3 })
  expect(titles.sort()).toEqual(upTo(8).map((n) => `T${n}`))
  expect(most).toBeLessThanOrEqual(3)
  expect(await list()).toMatchObject(upTo(8).map(() => ({ status: 'DONE', claim: null })))
})

test('a failing handler releases the task and counts an attempt with the error as reason, the worker continues, and `maxAttempts` skips the task', async () => {
  const { id, project, list } = await newProject(2)
  const failure = new Error(`No ink${'!'.repeat(3_000)}\0\ud800`)
  const [seen, errors]: [string[], unknown[]] = [[], []]
  const handler: Handler = ({ title }) => {
    seen.push(title)
    if (title === 'T1') throw failure
  }
  await run(id, 3, handler, { maxAttempts: 2, onError: (...given) => errors.push(given) })
  expect(seen).toEqual(['T1', 'T1', 'T2'])
  expect(errors).toMatchObject(upTo(2).map(() => [failure, { title: 'T1' }]))
  const [dead, done] = await list()
  expect(dead).toMatchObject({ status: 'TODO', attempts: 2, claim: null })
  expect(done).toMatchObject({ status: 'DONE', attempts: 0, claim: null })
  expect(await docket.tasks.list({ projectId: id, minAttempts: 2 }).all()).toHaveLength(1)
  const events = await docket.events.list({ projectId: id, types: 'task.released' }).all()
  const reason = failure.message.slice(0, 2_000)
  expect(events).toMatchObject(upTo(2).map(() => ({ failed: true, reason })))
  await docket.tasks.update(dead!.id, { attempts: 0 })
  const claimed = (await project.claimNext({ maxAttempts: 1 }))!
  await docket.tasks.release(claimed.id, { failed: true, ifClaim: claimed })
  expect((await docket.tasks.get(dead!.id)).attempts).toBe(1)
})

test('a worker that stops aborts its handlers, waits for them and releases their tasks', async () => {
  const { project, list } = await newProject(3)
  const stop = new AbortController()
  let [started, ended] = [0, 0]
  await project.work(
    async (_, { signal }) => {
      const aborted = new Promise((resolve) => signal.addEventListener('abort', resolve))
      if (++started === 2) stop.abort(new Error('stopped'))
      await aborted
      if (++ended === 1) throw signal.reason
    },
    { concurrency: 2, signal: stop.signal, onError: () => expect.unreachable() },
  )
  expect(ended).toBe(2)
  expect(await list()).toMatchObject(upTo(3).map(() => ({ status: 'TODO', claim: null, attempts: 0 })))
})

test('a worker releases a task that it claims while it stops', async () => {
  const { id, list } = await newProject(1)
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
  const { id, list } = await newProject(1)
  let runs = 0
  const handler: Handler = async (task, { signal }) => {
    // The task is ready again, because the worker has not set the task to DONE.
    if (++runs === 2) return docket.tasks.delete(task.id)
    await docket.tasks.update(task.id, { title: 'Drawn' }, { ifClaim: task })
    await docket.tasks.release(task.id)
    const write = docket.tasks.update(task.id, { title: 'Late' }, { ifClaim: task })
    await expect(write).rejects.toBeInstanceOf(PreconditionFailedError)
    expect([signal.aborted, await list()]).toMatchObject([false, [{ title: 'Drawn', status: 'TODO' }]])
  }
  await run(id, 2, handler, { onError: () => expect.unreachable() })
  expect([runs, await list()]).toEqual([2, []])
})

test('if the task cannot be set to DONE, the worker reports the error and releases the task', async () => {
  const { id, list } = await newProject(1)
  const [failures, statuses]: [unknown[], (string | undefined)[]] = [[], []]
  const broken = open({
    async fetch(url, init) {
      const isFirst = init.method === 'PATCH' && failures.length === 0
      return isFirst ? Response.json({ message: 'Broken' }, { status: 500 }) : send(url, init)
    },
  })
  const handler: Handler = async () => void statuses.push((await list())[0]?.status)
  await run(id, 2, handler, { onError: (error) => failures.push(error) }, broken)
  expect(failures).toMatchObject([{ status: 500, message: 'Broken' }])
  expect(statuses).toEqual(['TODO', 'TODO'])
  expect(await list()).toMatchObject([{ status: 'DONE', claim: null }])
})

/** Opens a client whose worker has short leases, which the service stores as leases of a minute. */
function openWithShortLeases() {
  const state = { isCut: false, extensions: 0, reads: 0 }
  const short = open({
    async fetch(url, init) {
      if (state.isCut) throw new TypeError('No network')
      const body = String(init.body).replace(/"leaseSeconds":\d+/, '"leaseSeconds":60')
      const response = await send(url, { ...init, ...(init.body && { body }) })
      state.extensions += Number(url.endsWith('/claim'))
      state.reads += Number(/tasks\/[\w-]+$/.test(url) && init.method === 'GET')
      return response
    },
  })
  return { state, short }
}

test('a worker extends its claim while the handler runs, and the handler goes on after it has set its task to DONE', async () => {
  const { id } = await newProject(1)
  const { state, short } = openWithShortLeases()
  let isAborted = true
  const extended = (count: number) => eventually(`extension ${count}`, () => state.extensions === count)
  const handler: Handler = async (task, { signal }) => {
    await extended(1)
    const { claim } = await docket.tasks.get(task.id)
    expect([claim!.seq, claim!.until > task.claim!.until]).toEqual([task.claim!.seq, true])
    await docket.tasks.update(task.id, { status: 'DONE' })
    // The service rejects the next extension, so the worker reads the task.
    await extended(2)
    await eventually('the read of the task', () => state.reads > 0)
    await docket.tasks.get(task.id)
    isAborted = signal.aborted
  }
  await run(id, 1, handler, { leaseSeconds: 6, onError: () => expect.unreachable() }, short)
  expect([state.extensions, isAborted]).toEqual([2, false])
})

test.each([
  ['another worker has the claim', false],
  ['the service cannot be reached until the end of the lease', true],
])('the signal of a handler aborts if %s, and its worker does not change the task', async (_, isCut) => {
  const { id, project, list } = await newProject(1)
  const { state, short } = openWithShortLeases()
  let reason: unknown
  const handler: Handler = async (task, { signal }) => {
    const aborted = new Promise((resolve) => signal.addEventListener('abort', resolve))
    await docket.tasks.release(task.id)
    await project.claimNext({ leaseSeconds: 300 })
    state.isCut = isCut
    await aborted
    reason = signal.reason
  }
  await run(id, 1, handler, { leaseSeconds: 1, onError: () => expect.unreachable() }, short)
  expect(reason).toBeInstanceOf(ClaimLostError)
  expect(await list()).toMatchObject([{ status: 'TODO', claim: { by: { id: ada.id } }, attempts: 0 }])
})
