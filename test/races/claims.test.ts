import { cases, faultsOf, make, openPair, type Person, runBatch, upTo } from '../kit.ts'

const tasks = Math.min(cases(90), 300)

test.each<Record<string, string>>([{}, { WRITE_SHARDS: '0' }])(
  '64 concurrent workers at two processes claim each task once, with %p',
  async (env) => {
    const { atA, atB, sql } = await openPair(env)
    const { id } = await make(atA, '/projects', { name: 'Queue' })
    const operations = upTo(tasks).map((n) => ({ op: 'task.create', title: `T${n}` }))
    await runBatch(atA, id, operations)
    const taken: string[] = []
    async function work(person: Person): Promise<void> {
      for (;;) {
        const { status, body } = await person.post(`/projects/${id}/claim-next`, { leaseSeconds: 600 })
        if (status === 204) return
        expect(status).toBe(200)
        taken.push(body.id)
      }
    }
    await Promise.all(upTo(64).map((n) => work(n % 2 ? atA : atB)))
    expect([taken.length, new Set(taken).size]).toEqual([tasks, tasks])
    const events = await sql`select from events where project_id = ${id} and type = 'task.claimed'`
    expect(events).toHaveLength(tasks)
    expect(await faultsOf(sql)).toEqual([])
  },
)
