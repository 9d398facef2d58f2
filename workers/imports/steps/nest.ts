import type { SubtaskItem } from '../../../modules/imports/items.ts'
import { subtaskOf } from '../../../modules/imports/convert/sub-items.ts'
import type { Sql } from '../../../src/postgres/database.ts'
import { forEachPage } from '../../throttle.ts'
import { lastOf } from './items.ts'
import { readLeaves } from './leaves.ts'
import { countRead } from '../batches/outcomes.ts'
import { endStep, moveCursor } from '../run/progress.ts'
import type { Run } from '../run/run.ts'

const pageRows = 1_000

/** Turns a sub-item into a subtask if it has no sub-items, comments and description of its own. */
export async function nestSubItems(run: Run): Promise<void> {
  const { sql, running } = run
  const [last, fieldNames] = [await lastOf(sql, running.id, 'task'), await readFieldNames(sql, running.id)]
  await forEachPage(run.throttle, running.cursor.n, async (after) => {
    if (after >= last) return undefined
    const { items, end } = await readLeaves(sql, running.id, after, after + pageRows)
    const subtasks = items.map(({ n, item, hasListOfParent, key }) => {
      const list = hasListOfParent ? item.list : undefined
      return { n, key, ...subtaskOf(item, { mapping: running.mapping, fieldNames, list }) }
    })
    await moveCursor(run, { step: 'nest', n: end }, end / last, (tx) => store(tx, running.id, subtasks))
    return end
  })
  await endStep(run, 'nest', (tx) => countRead(tx, running.id))
}

async function readFieldNames(sql: Sql, id: string): Promise<ReadonlyMap<string, string>> {
  const fields = await sql<{ key: string; name: string }[]>`
    select item ->> 'key' as key, item ->> 'name' as name from import_items where import_id = ${id} and kind = 'field'`
  return new Map(fields.map(({ key, name }) => [key, name]))
}

type Leaf = { n: number; key: string; subtask: SubtaskItem; line?: string }

async function store(tx: Sql, id: string, leaves: Leaf[]): Promise<void> {
  const ns = leaves.map(({ n }) => n)
  const items = leaves.map(({ subtask }) => JSON.stringify(subtask))
  await tx`
    update import_items i set kind = 'subtask', item = q.item::jsonb
    from unnest(${ns}::bigint[], ${items}::text[]) q(n, item)
    where i.import_id = ${id} and i.kind = 'task' and i.n = q.n`
  const lines = Map.groupBy(
    leaves.filter(({ line }) => line),
    ({ subtask }) => subtask.task,
  )
  const notes = [...lines.values()].map((some) => JSON.stringify(some.map(({ line }) => line)))
  await tx`
    update import_items i set item = i.item || jsonb_build_object('subtaskNotes', coalesce(i.item -> 'subtaskNotes', '[]') || q.notes::jsonb)
    from unnest(${[...lines.keys()]}::text[], ${notes}::text[]) q(key, notes)
    where i.import_id = ${id} and i.kind = 'task' and i.key = q.key`
}
