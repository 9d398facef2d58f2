import { parentKeys } from '../model/definition.ts'
import type { Entity, Rows } from '../model/entities.ts'
import { definitionOf, model, personIn } from '../model/model.ts'
import { columnsOf } from '../postgres/columns.ts'
import type { Sql } from '../postgres/database.ts'
import { fewRows, type Page, startOf, untilFull } from '../reads/pages.ts'
import type { Person } from '../reads/people.ts'
import type { Moment } from './as-of.ts'
import { firstRows, sourcesOf } from './rows-at.ts'
import { shownColumns } from './shown-columns.ts'

/** A row with the account whose name its view shows; name and email are null once the account is deleted. */
export type Named<R> = R & { personName?: string | null; personEmail?: string | null }

/**
 * Opens the pages of rows that belong to a parent, oldest first, with one row more than the limit. The parts of the text
 * that are always the same are made once.
 */
export function openChildPage<E extends Entity>(sql: Sql, entity: E, moment?: Moment) {
  const { table, parent, person } = definitionOf(entity)
  const columns = columnsOf(table)
  const nameOf = (key: string) => columns.find((column) => column.key === key)!.name
  const texts = model().texts[entity].map((key) => `coalesce(octet_length(${nameOf(key)}::text), 0)`)
  const long = sql`${sql.unsafe(texts.join(' + ') || '0')}`
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

/** The account that a view names; undefined once it is deleted. */
export function personOf<E extends Entity>(entity: E, row: Named<Rows[E]>): Person | undefined {
  const { personName: name, personEmail: email } = row
  if (name == null || email == null) return undefined
  return { id: personIn(entity, row)!, name, email, nameTag: '' }
}
