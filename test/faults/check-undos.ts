import type { StoredEvent } from '../../src/model/events.ts'
import { fold, emptyContents } from '../support/fold.ts'
import { batchError } from './check-batches.ts'
import type { Attribution } from './check-writes.ts'
import { type Evidence, type LogEvent, eventJson, type StoredResponse } from './evidence.ts'
import { label, type Operation } from './history.ts'

export interface Undo {
  seq?: number
  batch?: number
  seqs?: number[]
}

interface UndoResponse {
  version: number
  changes: { id: string; seq: number }[]
}

const isDryRun = ({ path }: Pick<Operation, 'path'>): boolean => path.endsWith('?dryRun=true')

export const isUndoDryRun = (operation: Operation): boolean =>
  operation.kind === 'undo' && isDryRun(operation)

export function eventsOfUndo(
  operation: Operation,
  stored: StoredResponse,
  byEtag: ReadonlyMap<string, LogEvent>,
  people: Evidence['people'],
): LogEvent[] | string {
  const { about, callerId, status, text } = operation
  if (status === 200 && text !== stored.body) return `returned ${text}, but ${stored.body} is stored`
  const { version, changes } = JSON.parse(stored.body) as UndoResponse
  const events = changes.map(({ id }) => byEtag.get(`"${id}"`))
  if (isDryRun(operation)) {
    if (events.some(Boolean)) return 'is a dry run, but its events are in the log'
    return changes.every(({ seq }, i) => seq === version + 1 + i) ? [] : 'does not predict the next seqs'
  }
  const [first] = events
  if (!first) return 'is not in the log'
  const batch = events.length > 1 ? first.seq : null
  for (const [i, event] of events.entries()) {
    if (!event) return `returned ${JSON.stringify(changes[i])}, which is not in the log`
    const expected = { seq: first.seq + i, projectId: about.projectId!, batch, actorId: callerId }
    const error = batchError(event, expected)
    if (error) return error
    if (eventJson(event, people) !== JSON.stringify(changes[i]))
      return `returned ${JSON.stringify(changes[i])}, but the log has ${eventJson(event, people)}`
  }
  return events.at(-1)!.seq === version ? (events as LogEvent[]) : `returned version ${version}`
}

/** Checks that each undo reverses exactly the events in its request, and keeps later changes of other fields. */
export function checkUndos(events: LogEvent[], causes: Attribution['causes']): string[] {
  const isUndo = ({ id }: LogEvent) => causes.get(id)?.kind === 'undo'
  return [...Map.groupBy(events, ({ projectId }) => projectId).values()].flatMap((history) => {
    const unrequested = history.filter((event) => event.undoes != null && !isUndo(event))
    const undos = Map.groupBy(history.filter(isUndo), ({ id }) => causes.get(id)!)
    const children = childrenAtDeletion(history)
    return [
      ...unrequested.map(
        ({ seq, undoes }) => `event ${seq} undoes ${undoes}, but no request asked for this undo`,
      ),
      ...[...undos].flatMap(([undo, written]) =>
        undoErrors(undo, written, history, children).map((error) => `${label(undo)} ${error}`),
      ),
    ]
  })
}

/** Returns the ids of the subtasks and comments of each deleted task, by the seq of the deletion. */
function childrenAtDeletion(history: LogEvent[]): Map<number, string[]> {
  const contents = emptyContents()
  const children = new Map<number, string[]>()
  for (const event of history) {
    if (event.type === 'task.deleted') {
      const rows = [...contents.subtask.values(), ...contents.comment.values()]
      children.set(
        event.seq,
        rows.filter(({ taskId }) => taskId === event.entityId).map(({ id }) => id),
      )
    }
    fold(contents, event as unknown as StoredEvent)
  }
  return children
}

function undoErrors(
  undo: Operation,
  written: LogEvent[],
  history: LogEvent[],
  children: ReadonlyMap<number, string[]>,
): string[] {
  const named = seqsOf(undo.body as Undo, history.slice(0, written[0]!.seq - 1))
  const undone = new Set(written.map(({ undoes }) => undoes))
  // Undoing an undo that restored a task with its children deletes all of them by one event.
  const isRestoredChild = (seq: number) =>
    history[seq - 1]!.undoes != null && !history[seq - 1]!.before && history[seq - 1]!.entity !== 'task'
  // Restoring a member also assigns the member's former tasks again.
  const isNamed = ({ undoes }: LogEvent) =>
    named.includes(undoes!) || history[undoes! - 1]?.type === 'task.unassigned'
  const restored = new Set(written.flatMap(({ after, entityId }) => (after ? entityId : [])))
  const lost = named.flatMap((seq) => children.get(seq) ?? []).filter((id) => !restored.has(id))
  return [
    ...named
      .filter((seq) => !undone.has(seq) && !isRestoredChild(seq))
      .map((seq) => `did not undo event ${seq}`),
    ...written.filter((event) => !isNamed(event)).map(({ undoes }) => `undid ${undoes} without naming it`),
    ...lost.map((id) => `did not restore ${id} with its task`),
    ...written.flatMap((event) => inverseError(event, history[event.undoes! - 1]) ?? []),
  ]
}

const versionFields = ['eventId', 'updatedAt']

function inverseError(event: LogEvent, target: LogEvent | undefined): string | undefined {
  const about = `wrote event ${event.seq} (${event.type}) to undo ${event.undoes} (${target?.type})`
  if (!target || target.seq >= event.seq) return `${about}, which is not an earlier event`
  const { before, after } = event
  if (target.type === 'task.deleted' && (event.type === 'task.unassigned' || !before)) return undefined
  if (event.entityId !== target.entityId || !after !== !target.before || !before !== !target.after)
    return `${about}, which is not its inverse`
  if (!before || !after || !target.before || !target.after) return undefined
  const [from, to] = [target.before, target.after]
  const fields = Object.keys(to).filter((name) => !versionFields.includes(name) && name in before)
  const changed = fields.filter((name) => from[name] !== to[name])
  const overwritten = changed.filter((name) => before[name] !== to[name])
  if (overwritten.length > 0) return `${about} and overwrote a later change of ${overwritten.join(', ')}`
  const wrong = fields.filter((name) => after[name] !== (changed.includes(name) ? from : before)[name])
  return wrong.length > 0 ? `${about} with a wrong ${wrong.join(', ')}` : undefined
}

export function seqsOf({ seq, seqs, batch }: Undo, history: LogEvent[]): number[] {
  if (batch === undefined) return seqs ?? [seq!]
  return history.filter((event) => event.batch === batch).map((event) => event.seq)
}
