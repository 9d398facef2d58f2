import type { EntityDefinition } from '../model/definition.ts'
import type { Entity } from '../model/entities.ts'
import { personIdOf } from '../model/model.ts'
import { columnsOf } from '../postgres/columns.ts'
import type { Sql } from '../postgres/database.ts'

/** The account that a row's view shows. Both fields are null after the account is deleted. */
export interface WithPerson {
  personName?: string | null
  personEmail?: string | null
}

/** SQL for the account that the view of row `alias` shows: its columns, and a join. Empty if the view shows no account. */
export function personColumns<E extends Entity>(
  sql: Sql,
  { table, person }: EntityDefinition<E>,
  alias: string,
) {
  const { name } = columnsOf(table).find(({ key }) => key === person) ?? {}
  return {
    names: name ? sql`, u.name as person_name, u.email as person_email` : sql``,
    people: name ? sql.unsafe(`left join users u on u.id = ${alias}.${name}`) : sql``,
  }
}

/** Returns the row as its view shows it. */
export function shownRow<E extends Entity>({ name, view }: EntityDefinition<E>, row: WithPerson): object {
  const { personName, personEmail } = row
  if (personName == null || personEmail == null) return view.of(row as never)
  const id = personIdOf(name, row)!
  return view.of(row as never, { id, name: personName, email: personEmail, nameTag: '' })
}
