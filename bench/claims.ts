import { build } from 'hdr-histogram-js'
import type postgres from 'postgres'
import { openClient } from '../test/support/client.ts'
import type { Bench } from './measure.ts'

export interface Claims {
  workers: number
  perSecond: number
  p50Ms: number
  p99Ms: number
}

const sizes = { tasks: 100_000, workers: 64 }

/** Workers claim one task after another from one project of 100,000 ready tasks. @throws Error if two get one task */
export async function measureClaims({
  servers,
  options,
}: Pick<Bench, 'servers' | 'options'>): Promise<Claims> {
  await servers.web(1)
  const user = { name: 'Many', email: `claims-${Date.now()}@example.com`, password: 'secret-1' }
  const { body } = await openClient(servers.url).post('/auth/register', user)
  const client = openClient(servers.url, body.access_token as string)
  const { id } = (await client.post('/projects', { name: 'Queue' })).body
  await insertTasks(servers.sql, id)
  const [taken, times] = [new Set<string>(), build()]
  const until = performance.now() + options.seconds * 1_000
  async function work(): Promise<void> {
    while (performance.now() < until) {
      const began = performance.now()
      const answer = await client.post(`/projects/${id}/claim-next`, { leaseSeconds: 3_600 })
      if (answer.status !== 200 || taken.has(answer.body.id)) throw new Error(`claim-next: ${answer.text}`)
      times.recordValue(Math.round((performance.now() - began) * 1_000))
      taken.add(answer.body.id)
    }
  }
  await Promise.all(Array.from({ length: sizes.workers }, work))
  const at = (percentile: number) => times.getValueAtPercentile(percentile) / 1_000
  return { workers: sizes.workers, perSecond: taken.size / options.seconds, p50Ms: at(50), p99Ms: at(99) }
}

async function insertTasks(sql: postgres.Sql, projectId: string): Promise<void> {
  await sql`insert into tasks (id, project_id, number, title, status, priority, created_at, updated_at, event_id)
    select uuidv7(), ${projectId}, n, 'Task ' || n, 'TODO', (array['LOW', 'MEDIUM', 'HIGH'])[1 + n % 3], now(), now(), uuidv7()
    from generate_series(1, ${sizes.tasks}::int) n`
  await sql`update streams set last_number = ${sizes.tasks} where project_id = ${projectId}`
  await sql`vacuum analyze tasks`
}

export const claimsSentence = ({ workers, perSecond, p50Ms, p99Ms }: Claims): string =>
  `${workers} workers claim ${Math.round(perSecond)} tasks a second from one project of ${sizes.tasks / 1_000},000 ready tasks (p50 ${p50Ms.toFixed(0)} ms, p99 ${p99Ms.toFixed(0)} ms).`
