import { eventually, forFile, make, openPair, spawnService, type Sql } from '../kit.ts'
import { fill } from '../large/fill.ts'
import { indexedOf, listTasks, searchIds } from './scene.ts'

const tasks = 30_000
const pair = await openPair()
const { atA, atB, sql, env } = pair

/** The state after an upgrade: tasks exist, and nothing is indexed. */
async function openFilled(sql: Sql): Promise<string> {
  const { id } = await make(atA, '/projects', { name: 'Large' })
  await fill(sql, id, tasks, atA.id)
  await sql`update streams s set last_event_id = e.id from events e
    where e.project_id = s.project_id and e.seq = s.version and s.project_id = ${id}`
  await sql`truncate search_documents, search_cursors`
  return id
}

const indexed = async () => (await indexedOf(atA))!

test('a killed worker continues the first fill, and the list is complete at the end', async () => {
  const projectId = await openFilled(sql)
  const seen = new Set([await indexed()])
  expect([...seen]).toEqual(['0%'])
  for (let kills = 0; kills < 4; kills++) {
    // With this pause, each worker is killed long before the end of the fill.
    const worker = await forFile(spawnService('worker', { ...env, JOB_PAUSE_MS: '300' }))
    const before = await indexed()
    await eventually('progress', async () => (await indexed()) !== before)
    await worker.stop('SIGKILL')
    seen.add(await indexed())
  }
  const percentages = [...seen].map((one) => (one === 'all' ? 100 : parseInt(one)))
  expect(percentages).toEqual(percentages.toSorted((a, b) => a - b))
  expect(percentages.length).toBeGreaterThan(2)
  // A change during the fill is found at once.
  const { id } = await make(atB, '/tasks', { projectId, title: 'Durante' })
  const [first] = (await atB.get(`/tasks?projectId=${projectId}&limit=1`)).body
  await atA.patch(`/tasks/${first!.id}`, { title: 'Primus' })
  for (const one of [atA, atB]) {
    expect(await searchIds(one, 'durante')).toEqual([id])
    expect(await searchIds(one, 'primus')).toEqual([first!.id])
    expect(await searchIds(one, '"task 1"')).not.toContain(first!.id)
  }
  await forFile(spawnService('worker', env))
  await eventually('the end of the fill', async () => (await indexed()) === 'all')
  for (const one of [atA, atB]) expect((await listTasks(one, 'task', { projectId })).length).toBe(tasks - 1)
  for (const n of [2, 77, 15_000, tasks])
    expect((await listTasks(atB, `"task ${n}"`, { projectId })).map(({ number }) => number)).toEqual([n])
}, 600_000)
