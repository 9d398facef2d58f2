import type { SubtaskItem, TaskItem } from '../../../modules/imports/items.ts'
import { subtaskOf } from '../../../modules/imports/convert/sub-items.ts'
import type { Sql } from '../../../src/postgres/database.ts'
import { forEachPage } from '../../throttle.ts'
import { lastOf } from './items.ts'
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
    const until = after + pageRows
    const leaves = await readLeaves(sql, running.id, after, until)
    const subtasks = leaves.map(({ n, item, list, key }) => ({
      n,
      key,
      ...subtaskOf(item, { mapping: running.mapping, fieldNames, list }),
    }))
    await moveCursor(run, { step: 'nest', n: until }, until / last, (tx) => store(tx, running.id, subtasks))
    return until
  })
  await endStep(run, 'nest', (tx) => countRead(tx, running.id))
}

async function readFieldNames(sql: Sql, id: string): Promise<ReadonlyMap<string, string>> {
  const fields = await sql<{ key: string; name: string }[]>`
    select item ->> 'key' as key, item ->> 'name' as name from import_items where import_id = ${id} and kind = 'field'`
  return new Map(fields.map(({ key, name }) => [key, name]))
}

/** A sub-item of a task that is not in the file remains a task. */
const readLeaves = (sql: Sql, id: string, after: number, until: number) =>
  sql<{ n: number; key: string; item: TaskItem; list?: string }[]>`
    select i.n, i.key, i.item, p.item ->> 'list' as list from import_items i
    cross join lateral (select item from import_items p
      where p.import_id = i.import_id and p.kind = 'task' and p.key = i.parent order by p.n limit 1) p
    where i.import_id = ${id} and i.kind = 'task' and i.n > ${after} and i.n <= ${until} and i.parent is not null
      and coalesce(i.item ->> 'description', '') !~ '\\S'
      and not exists (select from import_items c where c.import_id = i.import_id and c.parent = i.key)
    order by i.n`

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
