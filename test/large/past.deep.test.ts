import { expect, test } from 'bun:test'
import { make } from '../support/client.ts'
import { changeOften, fill } from './fill.ts'
import { costOfGet, openExplained } from './plans.ts'

const { sql, owner } = await openExplained()
const project = await make(owner, '/projects', { name: 'Alone' })
await fill(sql, project.id, 100_000, owner.id)
await sql`vacuum analyze tasks, events`

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
    const cost = await costOfGet(owner, `${path}asOf=${version}`)
    expect([path, cost.scans]).toEqual([path, expect.not.arrayContaining(['Seq Scan'])])
    expect([path, cost.rows < 5_000, cost.sortedRows < 5_000]).toEqual([path, true, true])
  }
})
