import type { TObject } from '@sinclair/typebox'
import { named } from '../schema/named.ts'
import type { Person } from '../reads/people.ts'

/** What crosses the wire of a row: its name and schema in the document, and how it is made. */
export interface View<Row = unknown> {
  name: string
  schema: TObject
  of(row: Row, person?: Person): object
  /** What a row's ETag stands for beside its event: the name that it shows, or how far it is. */
  tag?(person?: Person, row?: Row): string
  /** It is no row: without an ETag, and nothing that may be sent back. */
  untagged?: boolean
}

interface Definition<Row> extends Omit<View<Row>, 'of'> {
  of?: View<Row>['of']
  /** The fields of the schema that the row does not have. */
  computed?: Record<string, (row: Row, person?: Person) => unknown>
}

/** Defines a view. Without `of` it shows the fields that its schema names: those of the row, and those that are computed. */
export const view = <Row>({ of, computed = {}, ...definition }: Definition<Row>): View<Row> => ({
  ...definition,
  schema: named(definition.name, definition.schema),
  of: of ?? fieldsOf(Object.keys(definition.schema.properties), computed),
})

function fieldsOf<Row>(names: string[], computed: NonNullable<Definition<Row>['computed']>): View<Row>['of'] {
  const parts = names.map((name) => ({ name, compute: computed[name] }))
  return (row, person) => {
    const shown: Record<string, unknown> = {}
    for (const { name, compute } of parts)
      shown[name] = compute ? compute(row, person) : (row as Record<string, unknown>)[name]
    return shown
  }
}
