import { type Body, createApp, make } from '../kit.ts'
import { costOf, openExplained } from './plans.ts'

const projects = 1_000
const long = 500_000

const { service, sql, owner } = await openExplained()
const app = createApp(service.services)
const busy = await make(owner, '/projects', { name: 'Busy' })
await fill(busy)
const ids: string[] = (await sql<{ id: string }[]>`select id from projects`).map(({ id }) => id)
await sql`vacuum analyze events, streams, projects`

async function fill({ id }: Body): Promise<void> {
  await sql`insert into projects (id, owner_id, name, created_at, event_id)
    select uuidv7(), ${owner.id}, 'One of many', now(), uuidv7() from generate_series(2, ${projects}::int)`
  await sql`insert into streams (project_id, version, last_number, last_event_id)
    select id, 20, 0, uuidv7() from projects where id <> ${id}`
  await sql`update streams set version = ${long} where project_id = ${id}`
  await sql`insert into events (project_id, seq, id, type, entity, entity_id, actor_id, at)
    select s.project_id, n, uuidv7(), 'task.created', 'task', uuidv7(), ${owner.id}, now()
    from streams s, generate_series(1, s.version) n where not (s.project_id = ${id} and n = 1)`
}

const startAt = (seq: number) => Object.fromEntries(ids.map((id) => [id, seq]))

test('a read of many feeds reads the events that it returns, and at most one more event of each project', async () => {
  for (const [limit, after] of [
    [100, 0],
    [500, 5],
  ] as const) {
    const cost = await costOf(async () => {
      const { status, body } = await owner.post('/events/read', { after: startAt(after), limit })
      const { events } = body as unknown as { events: unknown[] }
      expect([status, events.length]).toEqual([200, limit])
    })
    expect(cost.scans).not.toContain('Seq Scan')
    // For each project: the project, its version and one event, each with some index pages and one table page.
    expect(cost.rows).toBeLessThanOrEqual(4 * projects + limit)
    expect(cost.blocks).toBeLessThan(16 * projects)
    expect(cost.sortedRows).toBeLessThanOrEqual(projects)
  }
})

test('a read of many feeds without new events reads only the versions of the projects', async () => {
  const after = Object.fromEntries(ids.map((id) => [id, 20]))
  const cost = await costOf(async () => {
    const { body } = await owner.post('/events/read', { after: { ...after, [ids[0]!]: long }, wait: 1 })
    expect(body).toMatchObject({ events: [] } as object)
  })
  expect(cost.scans).not.toContain('Seq Scan')
})

test('a new stream of all projects reads each project once', async () => {
  const headers = { authorization: `Bearer ${owner.token}` }
  let text = ''
  const cost = await costOf(async () => {
    const { body } = await app.fetch(new Request('http://localhost/api/v1/events', { headers }))
    const reader = body!.getReader()
    while (!text.includes('data:')) text += new TextDecoder().decode((await reader.read()).value)
    await reader.cancel()
  })
  expect(text.match(/data: /g)).toHaveLength(projects)
  expect(cost.scans).not.toContain('Seq Scan')
  expect(cost.rows).toBeGreaterThanOrEqual(projects)
  expect(cost.rows).toBeLessThanOrEqual(3 * projects)
})
