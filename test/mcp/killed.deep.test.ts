import { make, openTcpProxyTo, openWebs, upTo } from '../kit.ts'
import { connect } from './mcp-client.ts'

type Call = Awaited<ReturnType<typeof connect>>['call']

const at = (url: string) => ({ fetch: (path: string, init?: RequestInit) => fetch(url + path, init) })

/** Calls a tool at a process that is killed when it sends the answer, then repeats the call at another process. */
async function withKill(prepare: (projectId: string, call: Call) => Promise<[tool: string, args: object]>) {
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
  const { id } = await make(person, '/projects', { name: 'Engine' })
  const [tool, args] = await prepare(id, atB.call)
  isArmed = true
  const lost = await atA.call(tool, args).catch((error: unknown) => error)
  expect(lost).toBeInstanceOf(Error)
  await a.exited
  const again = await atB.call(tool, args)
  expect([again.isError, again.body.replayed]).toEqual([false, true])
  const { body: tasks } = await person.get(`/tasks?projectId=${id}`)
  proxy.close()
  await pair.close()
  return { ...again.body, tasks } as unknown as {
    tasks: typeof tasks
    batch: number
    ids: object
    task: { id: string }
  }
}

const create = (project: string, titles: string[]) => ({
  ...{ project, key: 'created' },
  operations: titles.map((title) => ({ op: 'task.create', as: title, title })),
})

test('an apply that is repeated after a kill creates one task', async () => {
  const { tasks, ids, batch } = await withKill(async (id) => ['apply', create(id, ['Draw'])])
  expect([ids, batch]).toEqual([{ Draw: tasks[0]!.id }, 2])
  expect(tasks).toHaveLength(1)
}, 60_000)

test('an undo that is repeated after a kill undoes once', async () => {
  const { tasks, batch } = await withKill(async (id, call) => {
    await call('apply', create(id, ['Draw', 'Cast']))
    return ['undo', { project: id, batch: 2, key: 'undone' }]
  })
  expect([tasks, batch]).toEqual([[], 4] as never)
}, 60_000)

test('a claim_next that is repeated after a kill returns the same task', async () => {
  const { tasks, task } = await withKill(async (id, call) => {
    await call('apply', create(id, ['Draw', 'Cast']))
    return ['claim_next', { project: id, leaseSeconds: 60, key: 'claimed' }]
  })
  const claimed = (tasks as unknown as { id: string; claim: object | null }[]).filter(({ claim }) => claim)
  expect(claimed.map(({ id }) => id)).toEqual([task.id])
}, 60_000)
