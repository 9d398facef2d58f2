import { parentKeys } from '../model/definition.ts'
import type { Entity, Rows } from '../model/entities.ts'
import { definitionOf, model, personIn } from '../model/model.ts'
import { columnsOf } from '../postgres/columns.ts'
import type { Sql } from '../postgres/database.ts'
import { type Page, startOf, untilFull } from '../reads/pages.ts'
import type { Person } from '../reads/people.ts'
import type { Moment } from './as-of.ts'
import { firstRows, sourcesOf } from './rows-at.ts'
import { shownColumns } from './shown-columns.ts'

/** A row with the account whose name its view shows; name and email are null once the account is deleted. */
export type Named<R> = R & { personName?: string | null; personEmail?: string | null }

/** A page of the rows that belong to a parent, oldest first, with one row more than the limit. */
export function childPage<E extends Entity>(
  sql: Sql,
  entity: E,
  parentId: string,
  page: Page,
  sources = sourcesOf(sql, entity),
  moment?: Moment,
) {
  const { table, parent, person } = definitionOf(entity)
  const columns = columnsOf(table)
  const nameOf = (key: string) => columns.find((column) => column.key === key)!.name
  const texts = model().texts[entity].map((key) => `coalesce(octet_length(${nameOf(key)}::text), 0)`)
  const rows = firstRows(sql, sources, {
    where: sql`t.${sql.unsafe(nameOf(parentKeys[parent!]))} = ${parentId} and t.id > ${startOf(page)}`,
    by: sql`t.id, t.created_at`,
    limit: page.limit + 1,
  })
  const shown = shownColumns(sql, entity, 't', moment)
  const found = person
    ? sql`select ${shown}, u.name as person_name, u.email as person_email
        from ${rows} t left join users u on u.id = t.${sql.unsafe(nameOf(person))} order by t.id`
    : sql`select ${shown} from ${rows} t order by t.id`
  return sql<Named<Rows[E]>[]>`${untilFull(sql, found, sql.unsafe(texts.join(' + ') || '0'))}`
}

/** The account that a view names; undefined once it is deleted. */
export function personOf<E extends Entity>(entity: E, row: Named<Rows[E]>): Person | undefined {
  const { personName: name, personEmail: email } = row
  if (name == null || email == null) return undefined
  return { id: personIn(entity, row)!, name, email, nameTag: '' }
}
