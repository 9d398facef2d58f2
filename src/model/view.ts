import type { TObject } from '@sinclair/typebox'
import { named } from '../schema/named.ts'
import type { Person } from '../reads/people.ts'

/** The public form of a row: its name and schema in the OpenAPI document, and the function that returns it. */
export interface View<Row = unknown> {
  name: string
  schema: TObject
  of(row: Row, person?: Person): object
  /** Returns a suffix for the row's ETag that changes with values outside the row, such as the person's name. */
  etagSuffix?(row: Row, person?: Person): string
  /** True for a view of data that is not a row. The view has no ETag, and requests do not accept its fields. */
  hasNoEtag?: boolean
}

interface ViewDefinition<Row> extends Omit<View<Row>, 'of'> {
  of?: View<Row>['of']
  computed?: Record<string, (row: Row, person?: Person) => unknown>
}

/** Defines a view. Without `of`, takes each field of the schema from `computed`, or else from the row. */
export const view = <Row>({ of, computed = {}, ...definition }: ViewDefinition<Row>): View<Row> => ({
  ...definition,
  schema: named(definition.name, definition.schema),
  of: of ?? fieldsOf(Object.keys(definition.schema.properties), computed),
})

/** Computes a field from the value of an optional column. Without a value, returns `empty`. */
export const ifSet =
  <Row, T>(
    column: string & keyof Row,
    empty: T,
    compute: (row: Row, person?: Person) => T = (row) => row[column] as T,
  ) =>
  (row: Row, person?: Person): T =>
    row[column] == null ? empty : compute(row, person)

function fieldsOf<Row>(
  names: string[],
  computed: NonNullable<ViewDefinition<Row>['computed']>,
): View<Row>['of'] {
  const parts = names.map((name) => ({ name, compute: computed[name] }))
  return (row, person) => {
    const shown: Record<string, unknown> = {}
    for (const { name, compute } of parts)
      shown[name] = compute ? compute(row, person) : (row as Record<string, unknown>)[name]
    return shown
  }
}
