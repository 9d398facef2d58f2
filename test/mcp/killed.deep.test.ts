import { setDefaultTimeout } from 'bun:test'
import { make, openTcpProxyTo, openWebs, upTo } from '../kit.ts'
import { connect } from './mcp-client.ts'
import { creates } from './scene.ts'

setDefaultTimeout(60_000)

const at = (url: string) => ({ fetch: (path: string, init?: RequestInit) => fetch(url + path, init) })

/** Calls a tool at a process that is killed when it sends the answer, then repeats the call at another process. */
async function withKill(tool: string, given: object, titles: string[] = []) {
  const pair = await openWebs(upTo(2).map(() => ({})))
  const [a, b] = pair.webs as [(typeof pair.webs)[0], (typeof pair.webs)[0]]
  let isArmed = false
  const proxy = await openTcpProxyTo(a.url, {
    // The answer is sent after the commit.
    intercept(chunk, to) {
      if (!isArmed || !chunk.includes('"content"')) return false
      a.signal('SIGKILL')
      to.destroy()
      return true
    },
  })
  const person = pair.people[1]!
  const atA = await connect(at(proxy.url.replace(/\/$/, '')), person.token)
  const atB = await connect(at(b.url), person.token)
  const { id: project } = await make(person, '/projects', { name: 'Engine' })
  if (titles.length > 0) await atB.call('apply', { project, key: 'created', operations: creates(...titles) })
  isArmed = true
  const args = { project, key: 'key', ...given }
  const lost = await atA.call(tool, args).catch((error: unknown) => error)
  expect(lost).toBeInstanceOf(Error)
  await a.exited
  const again = await atB.call(tool, args)
  expect([again.isError, again.body.replayed]).toEqual([false, true])
  const { body } = await person.get(`/tasks?projectId=${project}`)
  proxy.close()
  await pair.close()
  return { answer: again.body, tasks: body as unknown as { id: string; claim: object | null }[] }
}

test('an apply that is repeated after a kill creates one task', async () => {
  const operations = [{ op: 'task.create', as: 'draw', title: 'Draw' }]
  const { tasks, answer } = await withKill('apply', { operations })
  expect(answer).toMatchObject({ ids: { draw: tasks[0]!.id }, batch: 2 })
  expect(tasks).toHaveLength(1)
})

test('an undo that is repeated after a kill undoes once', async () => {
  const { tasks, answer } = await withKill('undo', { batch: 2 }, ['Draw', 'Cast'])
  expect([tasks, answer.batch]).toEqual([[], 4])
})

test('a claim_next that is repeated after a kill returns the same task', async () => {
  const { tasks, answer } = await withKill('claim_next', { leaseSeconds: 60 }, ['Draw', 'Cast'])
  const [claimed, ...others] = tasks.filter(({ claim }) => claim)
  expect([answer, others]).toMatchObject([{ task: { id: claimed!.id } }, []])
})
