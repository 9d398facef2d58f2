import type { Entity } from './entities.ts'
import type { ReferenceField } from './model.ts'

// A row keeps the values of deleted fields, and replies hide them, like references to deleted rows.

export interface KeyedRows {
  all(entity: Entity): { id: string }[]
}
type Row = Record<string, unknown>

function rowsByKey(state: KeyedRows, { to, values }: ReferenceField): Map<unknown, Row> {
  return new Map(state.all(to).map((one) => [(one as unknown as Row)[values!.key], one as unknown as Row]))
}

const accepts = ({ values }: ReferenceField, row: Row | undefined, value: unknown): row is Row =>
  row !== undefined && values!.fits(row as never, value)

const objectOf = (entries: [string, unknown][]) => (entries.length > 0 ? Object.fromEntries(entries) : null)

/** The values that are shown, and for each value of the column whether it is shown. */
export function shownValues(state: KeyedRows, field: ReferenceField, stored: object) {
  const rows = rowsByKey(state, field)
  const entries = Object.entries(stored)
  const isShown = ([key, value]: [string, unknown]) => accepts(field, rows.get(key), value)
  return {
    shown: objectOf(entries.filter(isShown)),
    bits: entries.map((one) => (isShown(one) ? '1' : '0')).join(''),
  }
}

/** The shown values that the target project accepts for the same key and type. */
export function movedValues(source: KeyedRows, target: KeyedRows, field: ReferenceField, stored: object) {
  const [before, after] = [rowsByKey(source, field), rowsByKey(target, field)]
  const { type } = field.values!
  return objectOf(
    Object.entries(stored).filter(([key, value]) => {
      const [row, same] = [before.get(key), after.get(key)]
      const isKept = accepts(field, row, value) && accepts(field, same, value)
      return isKept && row[type] === same![type]
    }),
  )
}
