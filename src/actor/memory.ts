import { type Children, childEntries } from '../log/children.ts'
import type { Entity } from '../model/entities.ts'
import { textLength } from '../model/model.ts'

/** The approximate memory of the id of a row that is not loaded. */
export const idBytes = 100

/** The approximate memory of a row: 700 bytes for fields and map entries (measured), and 2 bytes per character. */
export const bytesOf = (entity: Entity, row: object | null): number =>
  700 + (row ? 2 * textLength(entity, row) : 0)

export const bytesOfChildren = (children: Children): number =>
  childEntries(children).reduce((sum, [entity, row]) => sum + bytesOf(entity, row), 0)
