import type { Entity, Rows } from '../../drizzle/entities.ts'

/** What it takes to remember the id of a deleted row. */
export const goneBytes = 100

/** About how many bytes of memory a row takes: fields and map entries about 700 (measured), long texts two a character. */
export function weigh(row: Rows[Entity] | null | undefined): number {
  const { description, text } = (row ?? {}) as { description?: string | null; text?: string }
  return 700 + 2 * ((description?.length ?? 0) + (text?.length ?? 0))
}
