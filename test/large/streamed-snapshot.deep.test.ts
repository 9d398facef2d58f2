import { rowSources } from '../../src/log/rows-at.ts'
import { expectTransactions } from '../exports/scene.ts'
import { forFile, make, openDatabase, openStream, openWebProcess, readConfig, runBatch } from '../kit.ts'
import { upTo } from '../kit.ts'
import type { Message } from '../kit.ts'
import { peakMib } from '../support/peak-memory.ts'
import { fill } from './fill.ts'

const tasks = 100_000
const operations = 50
const batchEveryMs = 100

const { env, web, ada } = await openWebProcess()
const database = await forFile(openDatabase(readConfig(env)))
const sql = database.background
const { id: projectId } = await make(ada, '/projects', { name: 'Large' })
await fill(sql, projectId, tasks, ada.id)
await sql`vacuum analyze tasks, events, streams`

interface Data {
  version: number
  rows: { id: string; title: string; status: string; number: number }[]
}
const dataOf = ({ data }: Message) => data as unknown as Data

/** Reads a snapshot, with a pause after each message. */
async function readSnapshot(pauseMs: number) {
  const { messages } = await openStream(ada, web, `/projects/${projectId}/events?snapshot=tasks`)
  const rows: string[] = []
  for await (const message of messages) {
    if (message.event === 'live') {
      const { version } = dataOf(message)
      const { value: next } = await messages.next()
      return { version, rows, next: Number(next!.id) }
    }
    if (message.event !== 'snapshot') continue
    expect(dataOf(message).rows.length).toBeLessThanOrEqual(200)
    for (const { id, title, status, number } of dataOf(message).rows)
      rows.push([id, number, status, title].join())
    await Bun.sleep(pauseMs)
  }
  throw new Error('The stream ended before the end of the snapshot')
}

async function rowsAt(version: number): Promise<string[]> {
  const at = { projectId, version, currentVersion: version }
  const [unchanged, changed] = rowSources(sql, 'task', at)
  const rows = await sql<{ row: string }[]>`
    select concat_ws(',', id, number, status, title) as row
    from (select * from ${unchanged!} a union all select * from ${changed!} b) t
    where project_id = ${projectId} order by id`
  return rows.map(({ row }) => row)
}

test('snapshots of 100,000 tasks equal the rows at their version while clients write 500 times a second', async () => {
  const ids = (await sql<{ id: string }[]>`select id from tasks where project_id = ${projectId}`).map(
    ({ id }) => id,
  )
  let [isOver, writes, at] = [false, 0, 0]
  const writing = (async () => {
    for (let next = performance.now(); !isOver; next += batchEveryMs) {
      await Bun.sleep(Math.max(0, next - performance.now()))
      const some = upTo(operations).map((n) => {
        if (n === 1) return { op: 'task.create', title: `New ${writes}` }
        const id = ids.splice((at = (at + 7_919) % ids.length), n === 2 ? 1 : 0)[0] ?? ids[at]!
        return n === 2 ? { op: 'task.delete', id } : { op: 'task.update', id, title: `T${writes} ${n}` }
      })
      await runBatch(ada, projectId, some)
      writes += operations
    }
  })()
  // Two clients never read: they keep no transaction.
  const stalled = await Promise.all(
    upTo(2).map(() => openStream(ada, web, `/projects/${projectId}/events?snapshot=tasks`)),
  )
  const snapshots = await Promise.all([0, 0, 20, 40].map(readSnapshot))
  isOver = true
  await writing
  await expectTransactions(sql, 0)
  for (const { stop } of stalled) stop()
  for (const { version, rows, next } of snapshots) {
    expect(next).toBe(version + 1)
    expect(rows.length).toBeWithin(tasks - 1_000, tasks + 1_000)
    expect(Bun.deepEquals(rows, await rowsAt(version))).toBe(true)
  }
  expect(peakMib(web.pid)).toBeLessThan(600)
}, 300_000)
