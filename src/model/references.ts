import { badRequest, invalid, conflict } from '../responses/errors.ts'
import { caseless } from '../schema/input.ts'
import type { Entity } from './entities.ts'
import { isEqual } from './events.ts'
import { type ReferenceField, definitionOf, model } from './model.ts'

// A row keeps the values of deleted fields, and replies hide them, like references to deleted rows.

interface KeyedRows {
  all(entity: Entity): { id: string }[]
}
type Row = Record<string, unknown>

function rowsByKey(state: KeyedRows, { to, values }: ReferenceField): Map<unknown, Row> {
  return new Map(state.all(to).map((one) => [(one as unknown as Row)[values!.key], one as unknown as Row]))
}

const accepts = ({ values }: ReferenceField, row: Row | undefined, value: unknown): row is Row =>
  row !== undefined && values!.fits(row as never, value)

const objectOf = (entries: [string, unknown][]) => (entries.length > 0 ? Object.fromEntries(entries) : null)

/** The shown values that the target project accepts for the same key and type. */
function movedValues(source: KeyedRows, target: KeyedRows, field: ReferenceField, stored: object) {
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

// A row keeps references to deleted rows, and replies hide them. So a deletion changes only one row, and its undo
// restores all references to that row.

interface RowSource extends KeyedRows {
  row(entity: Entity, id: string): object | undefined
  has(entity: Entity, id: string): boolean
}

export const referencesOf = (entity: Entity): ReferenceField[] => model().references[entity] ?? []

const idsIn = (value: unknown): string[] =>
  Array.isArray(value) ? value : value == null ? [] : [String(value)]

export const hasReferences = (entity: Entity, row: object): boolean =>
  referencesOf(entity).some(({ name }) => !isEmpty((row as Row)[name]))
const isEmpty = (value: unknown) => value == null || (Array.isArray(value) && value.length === 0)

/** The ids of tasks in a row or an input. Tasks are not loaded with the project, so commands must preload them. */
export const referencedTasks = (entity: Entity, row: object): string[] =>
  referencesOf(entity).flatMap(({ name, to, edits: [add] }) =>
    to === 'task' ? [...idsIn((row as Row)[name]), ...idsIn((row as Row)[add])] : [],
  )

/** A nullable column stores an empty list as null. */
const storedIds = ({ isMany, column }: ReferenceField, ids: string[]) =>
  !isMany ? (ids[0] ?? null) : ids.length === 0 && column.isNullable ? null : ids

export const invalidReference = ({ name, to, isMany }: ReferenceField, input = name) => {
  const { noun, plural } = definitionOf(to)
  return invalid(
    input,
    `must be ${isMany ? `the ids of ${plural}` : `the id of a ${noun.toLowerCase()}`} in the project`,
  )
}
export const listEditedTwice = ({ name, edits: [add, remove] }: ReferenceField) =>
  badRequest(`Send ${name}, or ${add} and ${remove}`)
export const tooManyReferences = (entity: Entity, { name, max }: ReferenceField) =>
  conflict(`A ${entity} has at most ${max} ${name}`)

/** Returns the ids, or the keys and values, in a field, whether each is shown, and the field with only some of them. */
function partsOf(state: RowSource, field: ReferenceField, value: unknown) {
  if (!field.values) {
    const ids: unknown[] = idsIn(value)
    const some = (shown: unknown[]): unknown => storedIds(field, shown as string[])
    return { parts: ids, areShown: ids.map((id) => state.has(field.to, String(id))), some }
  }
  const rows = rowsByKey(state, field)
  const parts = Object.entries(value as object)
  const areShown = parts.map(([key, one]) => accepts(field, rows.get(key), one))
  return { parts, areShown, some: (shown: unknown[]) => objectOf(shown as typeof parts) }
}

/** If references are hidden, `eventId` gets a suffix, so that the ETag changes too. */
export function hideDeletedReferences<R>(state: RowSource, entity: Entity, row: R): R {
  if (!row) return row
  let shown: Row | undefined
  let bits = ''
  for (const field of referencesOf(entity)) {
    const value = (row as Row)[field.name]
    if (value == null) continue
    const { parts, areShown, some } = partsOf(state, field, value)
    bits += areShown.map(Number).join('')
    if (areShown.includes(false))
      (shown ??= { ...(row as Row) })[field.name] = some(parts.filter((_, n) => areShown[n]))
  }
  return shown ? ({ ...shown, eventId: `${(row as Row).eventId}.${bits}` } as R) : row
}

/**
 * Checks that all references exist. If an input repeats a field as shown, without its deleted references, keeps the
 * stored value with the deleted references, unless the row moves.
 * @throws HttpError 400
 */
export function checkReferences<Input extends object>(
  state: RowSource,
  entity: Entity,
  input: Input,
  isMove: boolean,
): Input {
  let checked = input as Row
  for (const field of referencesOf(entity)) {
    const { name, edits } = field
    if (field.values) continue
    const wanted = checked[name]
    const added = checked[edits[0]]
    if (added !== undefined) requireAll(state, field, edits[0], added)
    if (wanted === undefined) continue
    requireAll(state, field, name, wanted)
    const row = isMove ? undefined : (state.row(entity, String(checked.id)) as Row | undefined)
    const shown = row && (hideDeletedReferences(state, entity, row) as Row)[name]
    const ids = storedIds(field, idsIn(wanted))
    if (row && isEqual(shown, ids)) checked = { ...checked, [name]: row[name] ?? null }
    else if (ids !== wanted) checked = { ...checked, [name]: ids }
  }
  return checked as Input
}

function requireAll(state: RowSource, field: ReferenceField, name: string, wanted: unknown): void {
  const ids = idsIn(wanted)
  // The schema does not find all duplicates: two `#names` of a batch, or upper and lower case, may be the same id.
  const isInvalid = ids.some((id) => !state.has(field.to, id)) || new Set(ids).size < ids.length
  if (isInvalid) throw invalidReference(field, name)
}

/**
 * Replaces the inputs that add and remove ids of a list by the new list. Removes ids before it adds ids.
 * @param row the row before the change
 * @throws HttpError 400, 409
 */
export function editReferences<Input extends object>(
  state: RowSource,
  entity: Entity,
  row: object,
  input: Input,
): Input {
  let edited = input as Row
  for (const field of referencesOf(entity)) {
    const { name, to, max = Infinity } = field
    const { [field.edits[0]]: add, [field.edits[1]]: remove } = edited
    if (add === undefined && remove === undefined) continue
    if (edited[name] !== undefined) throw listEditedTwice(field)
    const removed = idsIn(remove)
    const kept = idsIn((row as Row)[name]).filter((id) => !removed.includes(id))
    const all = [...new Set([...kept, ...idsIn(add)])]
    // If a list is too long, it loses its references to deleted rows.
    const ids = all.length > max ? all.filter((id) => state.has(to, id)) : all
    if (ids.length > max) throw tooManyReferences(entity, field)
    edited = { ...edited, [name]: storedIds(field, ids) }
    for (const edit of field.edits) delete edited[edit]
  }
  return edited as Input
}

/** @param create creates a copy of a row in the target project and returns the id of the copy */
export function movedReferences<R extends object>(
  entity: Entity,
  row: R,
  source: RowSource,
  target: KeyedRows,
  create: (to: Entity, row: object) => string,
): Partial<R> {
  const moved: Row = {}
  for (const field of referencesOf(entity)) {
    const { name, to, onMove } = field
    const value = (row as Row)[name]
    if (value == null) continue
    if (field.values) {
      moved[name] = movedValues(source, target, field, value)
      continue
    }
    const ids = idsIn(value).flatMap((id) => {
      const before = source.row(to, id) as Row | undefined
      if (!before || onMove === 'drop') return []
      const textOf = (one: object) => caseless(String((one as Row)[onMove.by]))
      const text = textOf(before)
      const same = target.all(to).find((one) => textOf(one) === text)
      return same ? same.id : onMove.creates ? create(to, before) : []
    })
    moved[name] = storedIds(field, ids)
  }
  return moved as Partial<R>
}
