import { cases, faultsOf, openPair, type Person, upTo } from '../kit.ts'
import { claimNext, createQueue } from './claim-scene.ts'

const tasks = Math.min(cases(90), 300)

test.each<Record<string, string>>([{}, { WRITE_SHARDS: '0' }])(
  '64 concurrent workers at two processes claim each task once, with %p',
  async (env) => {
    const pair = await openPair(env)
    const projectId = await createQueue(pair.atA, tasks)
    const taken: string[] = []
    async function work(person: Person): Promise<void> {
      for (;;) {
        const { status, body } = await claimNext(person, projectId, { leaseSeconds: 600 })
        if (status === 204) return
        expect(status).toBe(200)
        taken.push(body.id)
      }
    }
    await Promise.all(upTo(64).map((n) => work(n % 2 ? pair.atA : pair.atB)))
    expect([taken.length, new Set(taken).size]).toEqual([tasks, tasks])
    const events =
      await pair.sql`select from events where project_id = ${projectId} and type = 'task.claimed'`
    expect(events).toHaveLength(tasks)
    expect(await faultsOf(pair.sql)).toEqual([])
  },
)
