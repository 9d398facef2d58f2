import type { TaskItem } from '../../../modules/imports/items.ts'
import type { Sql } from '../../../src/postgres/database.ts'
import { hasRoom, jsonBytes } from '../../../src/reads/pages.ts'
import { pageBytes } from './items.ts'

/** A sub-item without sub-items, comments and description of its own. Its parent is in the file. */
interface Leaf {
  n: number
  item: TaskItem
  hasListOfParent: boolean
}

/**
 * Reads the leaves with numbers above `after` up to `until`, until their items fill a page.
 * @returns `end` is the number of the last item that was checked
 */
export async function readLeaves(sql: Sql, id: string, after: number, until: number) {
  const rows = await sql<(Omit<Leaf, 'item'> & { item: TaskItem | null })[]>`
    select n, has_list_of_parent, case when has_room then item end as item
    from (select r.*, ${hasRoom(sql, jsonBytes(sql, sql`item`), pageBytes)} as has_room from (
      select i.n, i.item, i.item -> 'list' is not distinct from p.item -> 'list' as has_list_of_parent from import_items i
      cross join lateral (select item from import_items p
        where p.import_id = i.import_id and p.kind = 'task' and p.key = i.parent order by p.n limit 1) p
      where i.import_id = ${id} and i.kind = 'task' and i.n > ${after} and i.n <= ${until} and i.parent is not null
        and coalesce(i.item ->> 'description', '') !~ '\\S'
        and not exists (select from import_items c where c.import_id = i.import_id and c.parent = i.key)
      order by i.n) r) r
    order by n`
  const items = rows.filter((row): row is Leaf => row.item !== null)
  return { items, end: items.length < rows.length ? items.at(-1)!.n : until }
}
