import { externalIdOf } from '../../../modules/imports/convert/keys.ts'
import { Notes } from '../../../modules/imports/convert/notes.ts'
import { titleIn } from '../../../modules/imports/convert/titles.ts'
import type { ImportOperation } from '../../../modules/imports/command/operations.ts'
import type { PreparedRow } from '../batches/prepared-row.ts'
import type { Run } from '../run/run.ts'
import { readPage } from './items.ts'
import { maxBlockers } from './blockers.ts'

/** The most tasks in a prelude, each with its links. A dry run does not report a cycle with more tasks or long links. */
const maxTasks = 500

interface LinkedTask {
  key: string
  id: string
  title: string
  externalId: string | undefined
  outcome: string | null
  /** The number and the blockers' keys of the task's own links. */
  linksN: number | null
  keys: string[] | null
}

/** Returns the prelude for a batch of links in a dry run: the linked tasks, and their links in earlier batches. */
export async function uncommittedLinks(run: Run, prepared: PreparedRow[]): Promise<ImportOperation[]> {
  const ns = prepared.flatMap(({ n, operation }) => (operation ? n : []))
  const tasks = ns.length > 0 ? await readLinkedTasks(run, ns) : []
  const ids = new Map(tasks.flatMap(({ key, id, outcome }) => (outcome === 'rejected' ? [] : [[key, id]])))
  // Errors about cycles contain titles, so the prelude contains unchanged tasks too.
  const named = tasks.filter(({ key }) => ids.has(key))
  const earlier = tasks
    .filter(({ key, linksN }) => linksN !== null && linksN < prepared[0]!.n && ids.has(key))
    .sort((a, b) => a.linksN! - b.linksN!)
  return [
    ...named.map(({ key, id, title, externalId: given }): ImportOperation => {
      const externalId = externalIdOf(run.running.source, { key, externalId: given })
      return { op: 'task', id, ownId: id, externalId, values: { title: titleIn(title, new Notes()) } }
    }),
    ...earlier.map(({ id: taskId, keys }): ImportOperation => {
      const blockers = new Set(keys!.flatMap((key) => ids.get(key) ?? []))
      blockers.delete(taskId)
      return { op: 'links', taskId, blockedByIds: [...blockers].slice(0, maxBlockers) }
    }),
  ]
}

/** Reads the tasks with these links, and the tasks that block them, directly or through others. */
const readLinkedTasks = ({ sql, running: { id } }: Run, ns: number[]) =>
  readPage<LinkedTask>(
    sql,
    sql`
      with recursive reached(key) as (
        select key from import_items where import_id = ${id} and kind = 'links' and n = any(${ns}::bigint[])
        union select k.key from reached r
          join import_items l on l.import_id = ${id} and l.kind = 'links' and l.key = r.key
          cross join lateral jsonb_array_elements_text(l.item) k(key))
      select r.key, t.id, left(t.item ->> 'title', 1000) as title, t.item ->> 'externalId' as external_id, t.outcome,
        l.n as links_n, l.item as keys
      from (select key from reached limit ${maxTasks}) r
      cross join lateral (select * from import_items t
        where t.import_id = ${id} and t.kind = 'task' and t.key = r.key order by t.n limit 1) t
      left join lateral (select n, item from import_items l
        where l.import_id = ${id} and l.kind = 'links' and l.key = r.key and l.row = t.row order by l.n limit 1) l on true`,
    sql`keys`,
  )
