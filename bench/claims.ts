import { openClient } from '../test/support/client.ts'
import { numbers, type Probe, tenths, whole } from './probe.ts'
import { newProject, newUser } from './seed.ts'
import { openTimes } from './usage.ts'

const [tasks, workers] = [100_000, 64]

/** Workers claim one task after another from one project. */
export const claims: Probe = {
  name: 'claims',
  async measure({ servers: { sql, url, web }, seconds }) {
    await web(1)
    const { id, token } = await newProject(url, await newUser(url))
    await sql`insert into tasks (id, project_id, number, title, status, priority, created_at, updated_at, event_id)
      select uuidv7(), ${id}, n, 'Task ' || n, 'TODO', (array['LOW', 'MEDIUM', 'HIGH'])[1 + n % 3], now(), now(), uuidv7()
      from generate_series(1, ${tasks}::int) n`
    await sql`update streams set last_number = ${tasks} where project_id = ${id}`
    await sql`vacuum analyze tasks`
    const client = openClient(url, token)
    const [taken, times, until] = [new Set<string>(), openTimes(), performance.now() + seconds * 1_000]
    const work = async () => {
      while (performance.now() < until) {
        const path = `/projects/${id}/claim-next`
        const { status, body, text } = await times.of(() => client.post(path, { leaseSeconds: 3_600 }))
        if (status !== 200 || taken.has(body.id)) throw new Error(`claim-next: ${text}`)
        taken.add(body.id)
      }
    }
    await Promise.all(numbers(workers).map(work))
    const perSecond = taken.size / seconds
    return {
      sentences: [
        `${workers} workers claim ${whole(perSecond)} tasks a second from one project of ${whole(tasks)} ready tasks ` +
          `(p50 ${tenths(times.ms(50))} ms, p99 ${tenths(times.ms(99))} ms).`,
      ],
      figures: { perSecond, p50Ms: times.ms(50), p99Ms: times.ms(99) },
    }
  },
}
