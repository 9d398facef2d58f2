import { nilId } from '../../../src/id-format.ts'
import { eventsOf, type Undo } from './events.ts'

/** The most tasks that a statement reads. */
const maxPageTasks = 5_000

interface Names {
  labelIds: string[]
  fieldKeys: string[]
}

/** Returns the labels and fields of a batch that tasks of the project have. */
export async function readUsedNames(undo: Undo, batch: number, pageTasks = maxPageTasks): Promise<Names> {
  const { sql, projectId } = undo
  let [left, after] = [await readNames(undo, batch), nilId]
  const used: Names = { labelIds: [], fieldKeys: [] }
  while (left.labelIds.length > 0 || left.fieldKeys.length > 0) {
    const [page] = await sql<(Names & { last: string | null })[]>`
      with page as materialized (
        select id, label_ids, fields from tasks where project_id = ${projectId} and id > ${after} order by id limit ${pageTasks})
      select (select id from page order by id desc limit 1) as last,
        array(select distinct l.id from page cross join lateral unnest(label_ids) l(id)
          where l.id = any(${left.labelIds}::uuid[])) as label_ids,
        array(select distinct f.key from page cross join lateral jsonb_object_keys(fields) f(key)
          where f.key = any(${left.fieldKeys}::text[])) as field_keys`
    const { last, labelIds, fieldKeys } = page!
    if (last === null) break
    used.labelIds.push(...labelIds)
    used.fieldKeys.push(...fieldKeys)
    left = { labelIds: without(left.labelIds, labelIds), fieldKeys: without(left.fieldKeys, fieldKeys) }
    after = last
  }
  return used
}

const without = (all: string[], some: string[]) => all.filter((one) => !some.includes(one))

async function readNames(undo: Undo, batch: number): Promise<Names> {
  const [names] = await undo.sql<Names[]>`
    with own as (${eventsOf(undo, batch)})
    select array(select label_id from own where label_id is not null) as label_ids,
      array(select field_key from own where field_key is not null) as field_keys`
  return names!
}
