import { expect, test } from 'bun:test'
import { fill } from '../large/fill.ts'
import { eventually } from '../races/pair.ts'
import { expectedIndex, readIndex } from '../search/indexed.ts'
import { make } from '../support/client.ts'
import { openScene } from '../support/scene.ts'
import { forFile, spawnService } from '../support/service.ts'

const tasks = 5_000
const { service, ada, sql } = await openScene(['Ada'], { JOB_PAUSE_MS: '200' })
const start = (own = {}) => forFile(spawnService('worker', { ...service.env, ...own }))

test('a worker continues the fill of a killed worker, and new changes are found meanwhile', async () => {
  const { id: projectId } = await make(ada, '/projects', { name: 'Large' })
  await fill(sql, projectId, tasks, ada.id)
  const filled = async () => {
    const [row] = await sql<{ number: number | null }[]>`
      select (fill ->> 'number')::int4 as number from search_positions where project_id = ${projectId}`
    return row?.number ?? undefined
  }
  // With this pause, the worker is killed long before the end of the fill.
  const worker = await start({ JOB_PAUSE_MS: '2000' })
  await eventually('the first page', async () => (await filled())! > 0)
  await worker.stop('SIGKILL')
  const half = (await filled())!
  expect(half).toBeLessThan(tasks)
  // If the next worker began again, it would insert this document again.
  const [first] = await sql<{ id: string }[]>`
    delete from search where id = (select id from tasks where project_id = ${projectId} and number = 1) returning id`
  await start()
  await eventually('the next page', async () => ((await filled()) ?? tasks) > half)
  await eventually('the end of the fill', async () => (await filled()) === undefined)
  const expected = [...(await expectedIndex(sql))].filter(({ id }) => id !== first!.id)
  expect([...(await readIndex(sql))]).toEqual(expected)
  const { id } = await make(ada, '/tasks', { projectId, title: 'Draw the plate' })
  await eventually('the new task', async () => (await sql`select from search where id = ${id}`).length === 1)
})
