import type { TObject } from '@sinclair/typebox'
import { named } from '../schema/response.ts'
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

type Computed<Row> = (row: Row, person?: Person) => unknown

interface ViewDefinition<Row> extends Omit<View<Row>, 'of'> {
  of?: View<Row>['of']
  /** The fields that are no columns of the row, or that replace the column of the same name. */
  computed?: Record<string, Computed<Row>>
}

/** Defines a view. Without `of`, takes each field of the schema from `computed`, or else from the row. */
export const view = <Row>({ of, computed = {}, ...definition }: ViewDefinition<Row>): View<Row> => ({
  ...definition,
  schema: named(definition.name, definition.schema),
  of: of ?? compileFields(Object.keys(definition.schema.properties), computed),
})

/** Computes a field from the value of an optional column. Without a value, returns `empty`. */
export const ifSet =
  <Row, T>(column: string & keyof Row, empty: T, compute?: (row: Row, person?: Person) => T) =>
  (row: Row, person?: Person): T =>
    row[column] == null ? empty : compute ? compute(row, person) : (row[column] as T)

/**
 * Returns a function that computes all fields of a row. Generates code, like TypeBox for its checks, because a loop
 * over the fields takes eight times as long.
 */
function compileFields<Row>(names: string[], computed: Record<string, Computed<Row>>): View<Row>['of'] {
  const fields = names.map((name) => {
    const key = JSON.stringify(name)
    return `${key}: ${name in computed ? `computed[${key}](row, person)` : `row[${key}]`}`
  })
  return Function('computed', `return (row, person) => ({ ${fields.join()} })`)(computed)
}
