import { spawn } from 'node:child_process'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, setDefaultTimeout, test } from 'bun:test'
import { Docket } from '../../clients/typescript/src/docket.ts'
import { ClaimLostError } from '../../clients/typescript/src/work/claimed-task.ts'
import { eventually, forFile, newFolder, openWebProcess, spawnService } from '../kit.ts'

setDefaultTimeout(120_000)

/** The shortest lease that the service accepts. */
const leaseSeconds = 10
const { web, env, ada } = await forFile(openWebProcess())
await forFile(spawnService('worker', env))

let isCut = false
const cut: typeof fetch = Object.assign(
  (...args: Parameters<typeof fetch>) => (isCut ? Promise.reject(new Error('No network')) : fetch(...args)),
  { preconnect: () => {} },
)
const docket = new Docket({ url: web.url, token: ada.token!, fetch: cut })

async function newTask() {
  const { id } = await docket.projects.create({ name: 'Engine' })
  const task = await docket.tasks.create({ projectId: id, title: 'Draw' })
  return { project: docket.project(id), id: task.id, read: () => docket.tasks.get(task.id) }
}

test('a worker extends the lease while the handler runs', async () => {
  const { project, read } = await newTask()
  const stop = new AbortController()
  await project.work(
    async ({ claim }, { signal }) => {
      await eventually('two extensions', async () => {
        const until = Date.parse((await read()).claim!.until)
        return until - Date.parse(claim!.until) > (leaseSeconds * 1_000) / 2
      })
      expect([(await read()).claim?.seq, signal.aborted]).toEqual([claim!.seq, false])
      setTimeout(() => stop.abort())
    },
    { leaseSeconds, signal: stop.signal },
  )
  expect(await read()).toMatchObject({ status: 'DONE', claim: null })
})

test('if a claim is lost, the signal of the handler aborts, and the next worker continues with the task', async () => {
  const { project, id, read } = await newTask()
  const stop = new AbortController()
  const reasons: unknown[] = []
  let next = 0
  await project.work(
    async (_, { signal }) => {
      await docket.tasks.release(id)
      next = (await project.claimNext({ leaseSeconds: 300 }))!.claim!.seq
      await new Promise((resolve) => signal.addEventListener('abort', resolve))
      reasons.push(signal.reason)
      setTimeout(() => stop.abort())
    },
    { leaseSeconds, signal: stop.signal },
  )
  expect(reasons).toEqual([expect.any(ClaimLostError)])
  expect(await read()).toMatchObject({ status: 'TODO', claim: { seq: next } })
})

test('if the service cannot be reached, the signal of the handler aborts at the end of the lease', async () => {
  const { project, read } = await newTask()
  const stop = new AbortController()
  await project.work(
    async (_, { signal }) => {
      isCut = true
      await new Promise((resolve) => signal.addEventListener('abort', resolve))
      isCut = false
      expect(signal.reason).toBeInstanceOf(ClaimLostError)
      setTimeout(() => stop.abort())
    },
    { leaseSeconds, signal: stop.signal },
  )
  expect((await read()).status).toBe('TODO')
})

test('after a worker is killed, another worker claims its task', async () => {
  const { project, id, read } = await newTask()
  const program = join(await newFolder(), 'worker.ts')
  const source = (name: string) =>
    JSON.stringify(new URL(`../../clients/typescript/src/${name}`, import.meta.url).pathname)
  await writeFile(
    program,
    `import { Docket } from ${source('docket.ts')}
    const project = new Docket({ url: '${web.url}', token: '${ada.token}' }).project('${project.id}')
    await project.work(() => new Promise(() => {}), { leaseSeconds: ${leaseSeconds} })`,
  )
  const worker = spawn(process.execPath, [program], { stdio: 'inherit' })
  await eventually('the claim', async () => (await read()).claim !== null)
  const { claim } = await read()
  const stop = new AbortController()
  const done: [string, number][] = []
  const working = project.work(
    (task) => {
      done.push([task.id, task.claim!.seq])
      setTimeout(() => stop.abort())
    },
    { leaseSeconds, signal: stop.signal },
  )
  worker.kill('SIGKILL')
  await working
  expect(done).toEqual([[id, expect.any(Number)]])
  expect(done[0]![1]).toBeGreaterThan(claim!.seq)
  expect((await read()).status).toBe('DONE')
})
