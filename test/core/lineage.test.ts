import { readFileSync } from 'node:fs'
import { afterAll, beforeAll, expect, test } from 'bun:test'
import { type Body, make, type Person, register } from '../support/client.ts'
import { openTestService, type TestService } from '../support/service.ts'

let service: TestService
let ada: Person
let project: Body
beforeAll(async () => {
  service = await openTestService()
  ada = await register(service.client)
  project = await make(ada, '/projects', { name: 'Old' })
})
afterAll(() => service.close())

const migration = readFileSync(new URL('../../drizzle/migrations/0004_lineage.sql', import.meta.url), 'utf8')

test('projects from before versions named their events are given the event of their version', async () => {
  const sql = service.services.database.chores
  await make(ada, '/tasks', { title: 'Old', projectId: project.id })
  await sql`alter table streams drop column last_event_id`
  for (const statement of migration.split('--> statement-breakpoint')) await sql.unsafe(statement)
  const wrong =
    await sql`select s.* from streams s join events e on e.project_id = s.project_id and e.seq = s.version
    where s.last_event_id <> e.id`
  expect(wrong).toHaveLength(0)
  expect((await make(ada, '/tasks', { title: 'New', projectId: project.id })).number).toBe(2)
})
