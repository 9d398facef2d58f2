import { badRequest } from '../responses/errors.ts'
import type { Entity } from './entities.ts'
import { isSame } from './events.ts'
import { definitionOf, model, type ReferenceField } from './model.ts'

// Rows refer to rows of other entities by their ids. A row keeps the ids of deleted rows, and no answer shows them: so a deletion
// changes one row, and an undo of it brings all references back.

/** The rows of a project that may be referred to: all of them are loaded with it. */
interface Present {
  row(entity: Entity, id: string): object | undefined
}
type Row = Record<string, unknown>

export const referencesOf = (entity: Entity): ReferenceField[] | undefined => model().references[entity]

const idsIn = (value: unknown): string[] =>
  Array.isArray(value) ? value : value == null ? [] : [String(value)]

export const notReferred = ({ name, to, isMany }: ReferenceField) => {
  const { noun, plural } = definitionOf(to)
  return badRequest(
    `${name} must be ${isMany ? `the ids of ${plural}` : `the id of a ${noun.toLowerCase()}`} in the project`,
  )
}

/** A row as answers show it: without the ids of deleted rows. Its `eventId` then says which ids are shown: so its ETag does too. */
export function visible<R>(state: Present, entity: Entity, row: R): R {
  const fields = referencesOf(entity)
  if (!fields || !row) return row
  const shown: Row = { ...row }
  let bits = ''
  for (const { name, to, isMany } of fields) {
    const there = idsIn(shown[name]).filter((id) => {
      const isThere = state.row(to, id) !== undefined
      bits += isThere ? '1' : '0'
      return isThere
    })
    if (bits.includes('0')) shown[name] = isMany ? there : (there[0] ?? null)
  }
  return bits.includes('0') ? ({ ...shown, eventId: `${shown.eventId}.${bits}` } as R) : row
}

/**
 * An input whose references are all in the project. A field that asks for what the row shows already keeps the stored value.
 * @throws HttpError 400 that names the field
 */
export function withReferences<Input extends object>(state: Present, entity: Entity, input: Input): Input {
  let checked = input as Row
  for (const field of referencesOf(entity) ?? []) {
    const wanted = checked[field.name]
    if (wanted === undefined) continue
    if (idsIn(wanted).some((id) => !state.row(field.to, id))) throw notReferred(field)
    const row = state.row(entity, String(checked.id)) as Row | undefined
    const isShown = row && isSame((visible(state, entity, row) as Row)[field.name], wanted)
    if (isShown) checked = { ...checked, [field.name]: row[field.name] }
  }
  return checked as Input
}

/** The references of a row that moves to another project: each to the row there with the same value, or dropped. */
export function movedReferences<R extends object>(
  entity: Entity,
  row: R,
  source: Present,
  target: Target,
): Partial<R> {
  const moved: Row = {}
  for (const { name, to, isMany, onMove } of referencesOf(entity) ?? []) {
    const ids = idsIn((row as Row)[name]).flatMap((id) => {
      const before = source.row(to, id) as Row | undefined
      if (!before || onMove === 'drop') return []
      const same = target.all(to).find((one) => isSame((one as Row)[onMove.by], before[onMove.by]))
      return same ? same.id : []
    })
    moved[name] = isMany ? ids : (ids[0] ?? null)
  }
  return moved as Partial<R>
}

interface Target {
  all(entity: Entity): { id: string }[]
}
