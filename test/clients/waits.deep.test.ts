import { spawn } from 'node:child_process'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, setDefaultTimeout, test } from 'bun:test'
import { Docket } from '../../clients/typescript/src/docket.ts'
import { ClaimLostError } from '../../clients/typescript/src/work/claimed-task.ts'
import type { Handler } from '../../clients/typescript/src/work/work.ts'
import { eventually, forFile, newFolder, openWebProcess, spawnService } from '../kit.ts'

setDefaultTimeout(120_000)

/** The shortest lease that the service accepts. */
const leaseSeconds = 10
const { web, env, ada } = await forFile(openWebProcess({}))
await forFile(spawnService('worker', env))

type Fetch = (url: string, init: RequestInit) => Promise<Response>
const open = (send: Fetch = fetch) => new Docket({ url: web.url, token: ada.token!, fetch: send })
let isCut = false
let extensions = 0
const docket = open((url, init) => {
  if (isCut) return Promise.reject(new Error('No network'))
  return fetch(url, init).finally(() => (extensions += url.endsWith('/claim') ? 1 : 0))
})

async function newTask() {
  const { id: projectId } = await docket.projects.create({ name: 'Engine' })
  const { id } = await docket.tasks.create({ projectId, title: 'Draw' })
  const project = docket.project(projectId)
  /** Runs a worker until the first handler has ended. */
  const run = async (handler: Handler) => {
    const stop = new AbortController()
    const once: Handler = async (...given) => {
      await handler(...given)
      setTimeout(() => stop.abort())
    }
    await project.work(once, { leaseSeconds, signal: stop.signal })
  }
  return { project, id, run, read: () => docket.tasks.get(id) }
}
const aborted = (signal: AbortSignal) =>
  new Promise<unknown>((resolve) => signal.addEventListener('abort', () => resolve(signal.reason)))

test('a worker extends the lease while the handler runs', async () => {
  const { run, read } = await newTask()
  await run(async ({ claim }, { signal }) => {
    await eventually('two extensions', async () => {
      const until = Date.parse((await read()).claim!.until)
      return until - Date.parse(claim!.until) > (leaseSeconds * 1_000) / 2
    })
    expect([(await read()).claim?.seq, signal.aborted]).toEqual([claim!.seq, false])
  })
  expect(await read()).toMatchObject({ status: 'DONE', claim: null })
})

test('a handler goes on after it has set its task to DONE', async () => {
  const { run, id } = await newTask()
  await run(async (_, { signal }) => {
    await docket.tasks.update(id, { status: 'DONE' })
    const before = extensions
    await eventually('a rejected extension', () => extensions > before)
    await docket.tasks.get(id)
    expect(signal.aborted).toBe(false)
  })
})

test('if a claim is lost, the signal of the handler aborts, and the next worker continues with the task', async () => {
  const { project, run, id, read } = await newTask()
  let next = 0
  await run(async (_, { signal }) => {
    await docket.tasks.release(id)
    next = (await project.claimNext({ leaseSeconds: 300 }))!.claim!.seq
    expect(await aborted(signal)).toBeInstanceOf(ClaimLostError)
  })
  expect(await read()).toMatchObject({ status: 'TODO', claim: { seq: next } })
})

test('if the service cannot be reached, the signal of the handler aborts at the end of the lease', async () => {
  const { run, read } = await newTask()
  await run(async (_, { signal }) => {
    isCut = true
    expect(await aborted(signal)).toBeInstanceOf(ClaimLostError)
    isCut = false
  })
  expect((await read()).status).toBe('TODO')
})

test('after a worker is killed, another worker claims its task', async () => {
  const { project, run, id, read } = await newTask()
  const program = join(await newFolder(), 'worker.ts')
  const source = new URL('../../clients/typescript/src/docket.ts', import.meta.url).pathname
  await writeFile(
    program,
    `import { Docket } from ${JSON.stringify(source)}
    const project = new Docket({ url: '${web.url}', token: '${ada.token}' }).project('${project.id}')
    await project.work(() => new Promise(() => {}), { leaseSeconds: ${leaseSeconds} })`,
  )
  const worker = spawn(process.execPath, [program], { stdio: 'inherit' })
  await eventually('the claim', async () => (await read()).claim !== null)
  const first = (await read()).claim!.seq
  const claimed: [string, boolean][] = []
  const working = run((task) => claimed.push([task.id, task.claim!.seq > first]))
  worker.kill('SIGKILL')
  await working
  expect([claimed, (await read()).status]).toEqual([[[id, true]], 'DONE'])
})

/** Responses of a proxy that buffers a stream. */
const buffering: [name: string, answer: () => Promise<Response>][] = [
  ['never answers', () => new Promise<Response>(() => {})],
  [
    'holds back the bytes',
    async () => new Response(new ReadableStream(), { headers: { 'content-type': 'text/event-stream' } }),
  ],
]

test.each(buffering)('follow uses long polls if a proxy %s', async (_, answer) => {
  const { project, id } = await newTask()
  const silent = open((url, init) =>
    new Headers(init.headers).get('accept') === 'text/event-stream' ? answer() : fetch(url, init),
  )
  const seqs: number[] = []
  for await (const { seq } of silent.project(project.id).follow({ after: 0 })) {
    if (seqs.push(seq) === 4) break
    await docket.tasks.update(id, { title: `Draw ${seq}` })
  }
  expect(seqs).toEqual([1, 2, 3, 4])
})
