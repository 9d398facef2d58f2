import { gzipSync } from 'node:zlib'
import { expect, test } from 'bun:test'
import type { ImportCursor } from '../../../drizzle/schema/imports.ts'
import { SliceEnded, type Throttle } from '../../../workers/throttle.ts'
import { upTo } from '../../races/pair.ts'
import { task } from '../run/items.ts'
import { fileOf, openRunScene, tasksOf } from '../run/scene.ts'

const { newProject, queue, work, execute, resultOf, sql, client: _ } = await openRunScene()

/** Ends the slice after each page. */
const onePage: Throttle = { batchRows: 500, pauseMs: 0, pauses: () => 0, isOver: () => true }

test('stores only as many lines of sub-items with their parent as its description has space for', async () => {
  const { owner, projectId } = await newProject()
  const parts = upTo(4_000).map((n) => task(`${n + 10}`, { parent: '1', labels: ['brass'] }))
  const id = await queue(owner, projectId, gzipSync(fileOf([task('1'), task('1', { row: 2 }), ...parts])))
  const stored = new Set<string>()
  for (let step = 'read'; step === 'read' || step === 'nest';) {
    await execute({ importId: id }, onePage).catch((error: unknown) => {
      if (!(error instanceof SliceEnded)) throw error
    })
    const [row] = await sql<{ cursor: ImportCursor }[]>`select cursor from imports where id = ${id}`
    step = row!.cursor.step
    const items = await sql<{ item: { subtaskNotes?: string[] } }[]>`
      select item from import_items where import_id = ${id} and kind = 'task' and key = '1' order by n`
    if (step === 'nest') stored.add(JSON.stringify(items))
    expect(items[0]?.item.subtaskNotes?.join('\n').length ?? 0).toBeLessThan(21_000)
    expect(items[1]?.item.subtaskNotes).toBeUndefined()
  }
  // Before the first page, and after the pages whose lines had space.
  expect(stored.size).toBeLessThanOrEqual(3)
  await work(id)
  expect(await resultOf(id)).toMatchObject({ state: 'done', counts: { created: 1, rejected: 1 } })
  const [first] = await tasksOf(owner, projectId)
  expect(first!.description).toStartWith(
    'Subtask "Task 11": Labels: brass\nSubtask "Task 12": Labels: brass\n',
  )
  expect(String(first!.description).length).toBe(10_000)
})
