import { undoProject } from '../../../modules/undo/undo.ts'
import { HttpError } from '../../../src/responses/errors.ts'
import type { ImportedChange } from './changes.ts'
import type { Undo } from './undo.ts'

/** Undoes the events whose rows nobody has changed, and returns the events with the reasons why rows stay. */
export async function undoEvents(undo: Undo, changes: ImportedChange[]): Promise<ImportedChange[]> {
  const wanted = changes.filter(({ isUndone, kept }) => !isUndone && kept === null)
  const reasons = new Map((await undoSome(undo, wanted)).map((one) => [one.seq, one]))
  return changes.map((one) => reasons.get(one.seq) ?? one)
}

async function undoSome(undo: Undo, changes: ImportedChange[]): Promise<ImportedChange[]> {
  if (changes.length === 0) return []
  const { services, projectId: id, caller } = undo
  const seqs = changes.map(({ seq }) => seq)
  try {
    await services.run({ name: undoProject.name, input: { id, seqs }, caller })
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

/** Only an ADMIN may undo the creation of a field, or the change of the project. Without the role EDITOR, the whole undo fails. */
const isKept = (error: unknown, changes: ImportedChange[]): error is HttpError =>
  error instanceof HttpError &&
  (error.status === 409 ||
    error.status === 410 ||
    (error.status === 403 && changes.some(({ entity }) => entity === 'field' || entity === 'project')))
