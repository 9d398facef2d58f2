import { afterAll, expect, test } from 'bun:test'
import { make, register } from '../support/client.ts'
import { freshDatabase } from '../support/database.ts'
import { openTestService } from '../support/service.ts'
import { changeOften, fill } from './fill.ts'
import { costOf, explained } from './plans.ts'

const database = await freshDatabase()
const drop: () => Promise<void> = database.drop
const service = await openTestService({ DATABASE_URL: explained(database.url), CHORE_TIMEOUT_MS: '600000' })
const owner = await register(service.client)
const project = await make(owner, '/projects', { name: 'Alone' })
const sql = service.services.database.chores
await fill(sql, project.id, 100_000, owner.id)
await sql`vacuum analyze tasks, events`
afterAll(async () => {
  await service.close()
  await drop()
})

test('where one project has the whole log, the past is read from what came since', async () => {
  const { version, taskId } = await changeOften(owner, project.id)
  const paths = [
    `/projects/${project.id}?`,
    `/projects/${project.id}/members?`,
    `/tasks?projectId=${project.id}&limit=20&`,
    `/tasks?projectId=${project.id}&limit=20&sort=-dueDate&status=DONE&`,
    ...['?', '/subtasks?', '/comments?'].map((of) => `/tasks/${taskId}${of}`),
  ]
  for (const path of paths) {
    const cost = await costOf(async () =>
      expect(await owner.get(`${path}asOf=${version}`)).toMatchObject({ status: 200 }),
    )
    expect([path, cost.scans]).toEqual([path, expect.not.arrayContaining(['Seq Scan'])])
    expect([path, cost.rows < 5_000, cost.sortedRows < 5_000]).toEqual([path, true, true])
  }
})
