import type { State } from '../../src/actor/state.ts'
import type { RuleContext } from '../../src/commands/command.ts'
import { type EventDraft, isEqual, deleted, updated } from '../../src/model/events.ts'
import type { EventType } from '../../src/model/entities.ts'
import type { LoggedEvent, ToldPast } from '../../src/log/past.ts'
import { rowAfter, rowBefore } from '../../src/log/rows.ts'
import { Overtaken } from '../../src/log/overtaken.ts'
import { conflict } from '../../src/responses/errors.ts'

export interface Undoing {
  trial: State
  known: RuleContext
  past: ToldPast
}

type Row = Record<string, unknown>

/** What no change is about: these move on with each, an undo included. */
const versions = ['eventId', 'updatedAt']

export const overtaken = (event: LoggedEvent, fields: string[], { past }: Undoing) =>
  new Overtaken(
    event,
    fields,
    past.events.map(({ seq }) => seq),
  )

export const notEnded = () =>
  conflict('The invitation of a service account cannot be undone: delete the service account')

/** Sets back what an event changed, or takes away what it made. @throws HttpError 409 where that is another since */
export function invert(by: EventType, event: LoggedEvent, undoing: Undoing): EventDraft {
  const { trial, known, past } = undoing
  const row = rowNow(trial, event)
  const [was, left] = [rowBefore(event) as Row | null, rowAfter(event) as unknown as Row]
  const fields = Object.keys(left).filter(
    (name) => !versions.includes(name) && !isEqual(left[name], was?.[name]),
  )
  const now = row as Row | null
  const others = fields.filter((name) => !isEqual(now?.[name], left[name]))
  if (!row || others.length > 0) throw overtaken(event, row ? others : [], undoing)
  if (was) {
    const at = 'updatedAt' in row ? { updatedAt: known.now } : {}
    const set = Object.fromEntries(fields.map((name) => [name, was[name]]))
    return updated(trial, known, by, row as never, { ...set, ...at } as never)
  }
  if (event.entity === 'task' && hasOthers(event.entityId, undoing)) throw overtaken(event, [], undoing)
  if (past.people.get((row as { userId?: string }).userId ?? '')?.serves) throw notEnded()
  return deleted(trial, known, by, row as never)
}

/** The row as it is here; null when it is gone, or with its task in another project. */
function rowNow(trial: State, { entity, entityId, taskId }: LoggedEvent): object | null {
  const row = trial.row(entity, entityId)
  if (!row || !taskId) return row ?? null
  if (trial.row('task', taskId)?.projectId !== trial.projectId) return null
  // Found by its id, it may be another task's, in whatever project.
  return entity === 'task' || taskOf(row) === taskId ? row : null
}

/** Whether anything hangs on a task that did not come back with it: as it was read, and as this commit has it. */
function hasOthers(taskId: string, { trial, past }: Undoing): boolean {
  const added = past.decided.filter(({ entity, after }) => entity !== 'task' && taskOf(after) === taskId)
  const read = past.hanging.filter((one) => one.taskId === taskId)
  const all = [...read, ...added.map(({ entity, entityId }) => ({ entity, id: entityId }))]
  return all.some(({ entity, id }) => {
    return !trial.isLoaded(entity, id) || trial.row(entity, id) !== undefined
  })
}

const taskOf = (row: object | null): string | undefined => (row as { taskId?: string } | null)?.taskId
