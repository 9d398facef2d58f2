import { expectTransactions } from '../exports/scene.ts'
import { forFile, make, makeTasks, openDatabase, openStream, openWebProcess, readConfig } from '../kit.ts'
import { upTo, versionOf } from '../kit.ts'
import { peakMib } from '../support/peak-memory.ts'
import { fill } from './fill.ts'

const tasks = 60_000
const pauseMs = 20

const { env, web, ada } = await openWebProcess({})
const database = await forFile(openDatabase(readConfig(env)))
const sql = database.background
const { id: projectId } = await make(ada, '/projects', { name: 'Large' })
await fill(sql, projectId, tasks, ada.id)
await sql`vacuum analyze tasks, events, streams`
const before = await versionOf(ada, projectId)
const openSnapshot = () => openStream(ada, web, `/projects/${projectId}/events?snapshot=tasks`)

/** Returns the ids of the tasks of a snapshot, its version, and the seq of the first event after it. */
async function readSnapshot() {
  const { messages } = await openSnapshot()
  const ids: string[] = []
  for await (const { event, data } of messages) {
    const { version, rows } = (data ?? {}) as unknown as { version: number; rows: { id: string }[] }
    if (event === 'live') return { ids, version, next: Number((await messages.next()).value!.id) }
    if (event !== 'snapshot') continue
    ids.push(...rows.map(({ id }) => id))
    await Bun.sleep(pauseMs)
  }
  throw new Error('The stream ended before the end of the snapshot')
}

test('snapshots of 60,000 tasks are complete, and need a limited amount of memory, while a client creates tasks', async () => {
  let isOver = false
  const write = async () => {
    while (!isOver) await makeTasks(ada, projectId, 20)
  }
  const writing = write()
  // Two clients never read: they keep no transaction.
  const unread = await Promise.all(upTo(2).map(openSnapshot))
  const snapshots = await Promise.all(upTo(4).map(readSnapshot))
  isOver = true
  await writing
  await expectTransactions(sql, 0)
  for (const { stop } of unread) stop()
  for (const { ids, version, next } of snapshots) {
    expect([ids.length, new Set(ids).size]).toEqual(Array(2).fill(tasks + version - before))
    expect(next).toBe(version + 1)
  }
  expect(peakMib(web.pid)).toBeLessThan(600)
}, 300_000)
