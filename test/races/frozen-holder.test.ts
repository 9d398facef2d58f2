import { faultsOf, forFile, freshEnv, make, openWebs, upTo } from '../kit.ts'
import { openProxy } from './proxy.ts'

const { env } = await forFile(freshEnv({ LEASE_TTL_MS: '200', LEASE_SLICE_MS: '5', WRITE_SHARDS: '0' }))
// Process A uses a proxy that can delay a request to Postgres. Each process executes the commands that it receives.
const proxy = await forFile(openProxy(env.DATABASE_URL!))
const { webs, people, sql } = await openWebs([{ DATABASE_URL: proxy.url }, {}], env)
const [a, atA, atB] = [webs[0]!, people[0]!, people[1]!]
const project = await make(atA, '/projects', { name: 'Leased' })

test('a frozen lease holder cannot overwrite the commit of the next holder', async () => {
  const task = await make(atA, '/tasks', { title: 'Shared', projectId: project.id })
  const subtask = await make(atA, `/tasks/${task.id}/subtasks`, { title: 'Flipped by both' })
  const toggle = `/tasks/subtasks/${subtask.id}/toggle`
  for (const n of upTo(5)) {
    await atA.patch(`/tasks/${task.id}`, { description: 'A holds the lease now' })
    const request = proxy.hold('subtask.toggled')
    const late = atA.patch(toggle)
    await request.held
    a.signal('SIGSTOP')
    const next = await atB.patch(toggle)
    expect(next.body.completed).toBe(n % 2 === 1)
    await request.deliver()
    request.cut()
    a.signal('SIGCONT')
    const { status, body } = await late
    expect({ status, completed: body.completed }).toEqual({ status: 200, completed: n % 2 === 0 })
    await atB.patch(toggle)
  }
  const toggled = await sql`select 1 from events where type = 'subtask.toggled'`
  expect(toggled).toHaveLength(15)
  expect(await faultsOf(sql)).toEqual([])
})
