import { undoProject } from '../../../modules/undo/undo.ts'
import { HttpError } from '../../../src/responses/errors.ts'
import type { Undo } from './events.ts'
import { type ImportedChange, readBatch } from './read-batch.ts'

/** Undoes the events whose rows nobody has changed. Returns all events, with the reasons why rows are kept. */
export async function undoBatch(undo: Undo, batch: number): Promise<ImportedChange[]> {
  const changes = await readBatch(undo, batch)
  const wanted = changes.filter(({ isUndone, kept }) => !isUndone && kept === null)
  const rejected = (await undoSome(undo, wanted)).filter(({ kept }) => kept !== null)
  if (rejected.length === 0) return changes
  // Another worker may have undone the same events meanwhile.
  const undone = new Set((await readBatch(undo, batch)).flatMap((one) => (one.isUndone ? one.seq : [])))
  const reasons = new Map(rejected.map((one) => [one.seq, one]))
  return changes.map((one) => (undone.has(one.seq) ? one : (reasons.get(one.seq) ?? one)))
}

async function undoSome(undo: Undo, changes: ImportedChange[]): Promise<ImportedChange[]> {
  if (changes.length === 0) return []
  const { services, projectId: id, caller } = undo
  const seqs = changes.map(({ seq }) => seq)
  try {
    await services.runHere({ name: undoProject.name, input: { id, seqs }, caller })
    return changes
  } catch (error) {
    if (!isKept(error, changes)) throw error
    if (changes.length === 1)
      return changes.map((one) => ({
        ...one,
        kept: one.name ? `The ${one.name}: ${error.message}` : error.message,
      }))
    const middle = changes.length >> 1
    const later = await undoSome(undo, changes.slice(middle))
    return [...(await undoSome(undo, changes.slice(0, middle))), ...later]
  }
}

/** Only an ADMIN may undo changes of fields and of the project. Without the role EDITOR, the whole undo fails. */
const isKept = (error: unknown, changes: ImportedChange[]): error is HttpError =>
  error instanceof HttpError &&
  (error.status === 409 ||
    error.status === 410 ||
    (error.status === 403 && changes.some(({ entity }) => entity === 'field' || entity === 'project')))
