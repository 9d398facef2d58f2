import { badRequest } from '../responses/errors.ts'
import type { Entity } from './entities.ts'
import { isEqual } from './events.ts'
import { definitionOf, model, type ReferenceField } from './model.ts'

// A row keeps references to deleted rows, and replies hide them. So a deletion changes only one row, and its undo
// restores all references to that row.

interface RowSource {
  row(entity: Entity, id: string): object | undefined
  has(entity: Entity, id: string): boolean
}
type Row = Record<string, unknown>

export const referencesOf = (entity: Entity): ReferenceField[] | undefined => model().references[entity]

const idsIn = (value: unknown): string[] =>
  Array.isArray(value) ? value : value == null ? [] : [String(value)]

const noIds: string[] = []

/** The ids of tasks in a row or an input. Tasks are not loaded with the project, so commands must preload them. */
export function referencedTasks(entity: Entity, row: object): string[] {
  let ids = noIds
  for (const { name, to } of referencesOf(entity) ?? []) {
    const value = to === 'task' ? (row as Row)[name] : null
    if (value != null) ids = [...ids, ...idsIn(value)]
  }
  return ids
}

export const invalidReference = ({ name, to, isMany }: ReferenceField) => {
  const { noun, plural } = definitionOf(to)
  return badRequest(
    `${name} must be ${isMany ? `the ids of ${plural}` : `the id of a ${noun.toLowerCase()}`} in the project`,
  )
}

/** If references are hidden, `eventId` gets a suffix, so that the ETag changes too. */
export function hideDeletedReferences<R>(state: RowSource, entity: Entity, row: R): R {
  const fields = referencesOf(entity)
  if (!fields || !row) return row
  const shown: Row = { ...row }
  let bits = ''
  for (const { name, to, isMany } of fields) {
    const there = idsIn(shown[name]).filter((id) => {
      const isThere = state.has(to, id)
      bits += isThere ? '1' : '0'
      return isThere
    })
    if (bits.includes('0')) shown[name] = isMany ? there : (there[0] ?? null)
  }
  return bits.includes('0') ? ({ ...shown, eventId: `${shown.eventId}.${bits}` } as R) : row
}

/** A field that repeats the shown value keeps the stored value, with deleted references. @throws HttpError 400 */
export function checkReferences<Input extends object>(state: RowSource, entity: Entity, input: Input): Input {
  let checked = input as Row
  for (const field of referencesOf(entity) ?? []) {
    const wanted = checked[field.name]
    if (wanted === undefined) continue
    if (idsIn(wanted).some((id) => !state.has(field.to, id))) throw invalidReference(field)
    const row = state.row(entity, String(checked.id)) as Row | undefined
    const isShown = row && isEqual((hideDeletedReferences(state, entity, row) as Row)[field.name], wanted)
    if (isShown) checked = { ...checked, [field.name]: row[field.name] }
  }
  return checked as Input
}

export function movedReferences<R extends object>(
  entity: Entity,
  row: R,
  source: RowSource,
  target: ReferenceTarget,
): Partial<R> {
  const moved: Row = {}
  for (const { name, to, isMany, onMove } of referencesOf(entity) ?? []) {
    const ids = idsIn((row as Row)[name]).flatMap((id) => {
      const before = source.row(to, id) as Row | undefined
      if (!before || onMove === 'drop') return []
      const same = target.all(to).find((one) => isEqual((one as Row)[onMove.by], before[onMove.by]))
      return same ? same.id : []
    })
    moved[name] = isMany ? ids : (ids[0] ?? null)
  }
  return moved as Partial<R>
}

interface ReferenceTarget {
  all(entity: Entity): { id: string }[]
}
