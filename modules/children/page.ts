import type { Moment } from '../../src/log/as-of.ts'
import { firstRows, sourcesOf } from '../../src/log/rows-at.ts'
import { shownColumns } from '../../src/log/shown-columns.ts'
import { isArrivalTold, rowsTold } from '../../src/log/told-children.ts'
import { parentKeys } from '../../src/model/definition.ts'
import type { ChildOfTask, Entity, Rows } from '../../src/model/entities.ts'
import { definitionOf, lengthIn } from '../../src/model/model.ts'
import { columnsOf } from '../../src/postgres/columns.ts'
import type { Sql, SqlPart } from '../../src/postgres/database.ts'
import { unprepared } from '../../src/postgres/queries.ts'
import { gone, type OldestKept } from '../../src/reads/kept.ts'
import { fewRows, type Page, startOf, untilFull } from '../../src/reads/pages.ts'
import { taskThen } from '../tasks/past.ts'

/** A row with the account whose name its view shows; name and email are null once the account is deleted. */
export type Named<R> = R & { personName?: string | null; personEmail?: string | null }

/** Opens the pages of rows that belong to a parent, oldest first, with one row more than the limit. */
export function openChildPage<E extends Entity>(sql: Sql, entity: E, moment?: Moment) {
  const { table, parent, person } = definitionOf(entity)
  const nameOf = (key: string) => columnsOf(table).find((column) => column.key === key)!.name
  // The parts of the text that are always the same are made once.
  const long = sql`${sql.unsafe(lengthIn(entity, 'octet_length'))}`
  const parentId = sql.unsafe(`t.${nameOf(parentKeys[parent!])}`)
  const by = sql`t.id, t.created_at`
  const names = person ? sql`, u.name as person_name, u.email as person_email` : sql``
  const shown = sql`${shownColumns(sql, entity, 't', moment)} ${names}`
  const people = person ? sql.unsafe(`left join users u on u.id = t.${nameOf(person)}`) : sql``
  const now = sourcesOf(sql, entity)

  return (id: string, page: Page, sources = now) => {
    const limit = page.limit + 1
    const where = sql`${parentId} = ${id} and t.id > ${startOf(page)}`
    const rows = firstRows(sql, sources, { where, by, limit })
    const found = sql`select ${shown} from ${rows} t ${people} order by t.id`
    return sql<Named<Rows[E]>[]>`${limit <= fewRows ? found : untilFull(sql, found, long)}`
  }
}

/** A page of children as they were at a moment; undefined if there was no such parent. @throws Refusal 410 */
export async function childPageThen<E extends Entity>(
  sql: Sql,
  oldestKept: OldestKept,
  name: E,
  { moment, parentId, page }: { moment: Moment; parentId: string; page: Page },
) {
  const isOfTask = definitionOf(name).parent === 'task'
  const pageOf = openChildPage(sql, name, moment)
  const read = (sources: SqlPart[]) => unprepared(pageOf(parentId, page, sources))
  const rows = await read(sourcesOf(sql, name, moment, isOfTask ? parentId : undefined))
  if (!isOfTask) return rows
  // Read after the rows: a task that exists now existed when they were read.
  const task = await taskThen(sql, moment, parentId)
  if (!task?.isGone) return task && rows
  const told = await read([rowsTold(sql, name as ChildOfTask, moment, parentId)])
  if (await isArrivalTold(sql, moment, parentId)) return told
  throw gone((await oldestKept(moment.projectId)) ?? 1)
}
