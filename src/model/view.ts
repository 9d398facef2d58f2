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

type Definition<Row> = Omit<View<Row>, 'of'> & Partial<Pick<View<Row>, 'of'>>

/** Defines a view. Without `of` it shows the fields of the row that its schema names. */
export const view = <Row>({ of, ...definition }: Definition<Row>): View<Row> => ({
  ...definition,
  schema: named(definition.name, definition.schema),
  of: of ?? fieldsOf(Object.keys(definition.schema.properties)),
})

const fieldsOf = (names: string[]) => (row: unknown) => {
  const shown: Record<string, unknown> = {}
  for (const name of names) shown[name] = (row as Record<string, unknown>)[name]
  return shown
}
