import type { SubtaskItem } from '../../../modules/imports/items.ts'
import { maxFoot, Texts } from '../../../modules/imports/convert/notes.ts'
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
    const subtasks = items.map(({ n, item, hasListOfParent }) => {
      const list = hasListOfParent ? item.list : undefined
      return { n, ...subtaskOf(item, { mapping: running.mapping, fieldNames, list }) }
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

interface NestedLeaf {
  n: number
  subtask: SubtaskItem
  /** The values without a field of subtasks, for the description of the parent. */
  line?: string
}

async function store(tx: Sql, id: string, leaves: NestedLeaf[]): Promise<void> {
  const ns = leaves.map(({ n }) => n)
  const items = leaves.map(({ subtask }) => JSON.stringify(subtask))
  await tx`
    update import_items i set kind = 'subtask', item = q.item::jsonb
    from unnest(${ns}::bigint[], ${items}::text[]) q(n, item)
    where i.import_id = ${id} and i.kind = 'task' and i.n = q.n`
  const lines = new Map<string, Texts>()
  for (const { subtask, line } of leaves) {
    if (!line) continue
    const known = lines.get(subtask.task) ?? new Texts(maxFoot)
    lines.set(subtask.task, known)
    known.add(line)
  }
  await storeLines(tx, id, lines)
}

/** Adds the lines to the first task with each key, unless the task has enough lines for its description. */
const storeLines = (tx: Sql, id: string, lines: ReadonlyMap<string, Texts>) => tx`
  update import_items i set item = i.item || jsonb_build_object('subtaskNotes', coalesce(i.item -> 'subtaskNotes', '[]') || q.lines::jsonb)
  from unnest(${[...lines.keys()]}::text[], ${[...lines.values()].map(({ texts }) => JSON.stringify(texts))}::text[]) q(key, lines)
  cross join lateral (select n from import_items p
    where p.import_id = ${id} and p.kind = 'task' and p.key = q.key order by p.n limit 1) p
  where i.import_id = ${id} and i.kind = 'task' and i.n = p.n and ${maxFoot} >= (
    select coalesce(sum(length(line)), 0) from jsonb_array_elements_text(coalesce(i.item -> 'subtaskNotes', '[]')) line)`
