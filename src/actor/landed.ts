import { type Guard, isOwn } from '../commit/idempotency.ts'
import { isAhead, isMadeAfter, tailOf } from '../ids.ts'
import type { StoredEvent } from '../model/events.ts'
import type { Sql } from '../postgres/database.ts'
import { eventFields, eventRows } from '../postgres/columns.ts'
import { outcomeUnknown } from '../wire/refusals.ts'
import type { QueuedCommand } from './queued-command.ts'
import type { State } from './state.ts'

const pageEvents = 1_000
/** Pages of events that are ahead of the clock. All commands that are under way are among them, or nearly all. */
const mostPagesAhead = 5

/** The first event of each of these commands, if it is in the project's log up to a version; null for not found so far. */
export type FindLanded = (
  projectId: string,
  version: number,
  commandIds: string[],
) => Promise<Map<string, StoredEvent | null>>

/**
 * Searches the log for commands. Ids of events grow with their seq, and all events of a command sort after the command: so
 * the search ends at events that are older than the oldest command. Events of a clock that was ahead are newer than any
 * command: there the search ends after so many.
 */
export function openFindLanded(sql: Sql): FindLanded {
  return async (projectId, version, commandIds) => {
    const oldest = commandIds.reduce((a, b) => (a < b ? a : b))
    const searched = new Map(commandIds.map((id) => [tailOf(id), id]))
    const found = new Map<number, string>()
    let pagesAhead = 0
    for (let upTo = version; upTo > 0; upTo -= pageEvents) {
      const page = await sql<{ seq: number; id: string }[]>`
        select seq::float8 as seq, id from events
        where project_id = ${projectId} and seq > ${upTo - pageEvents} and seq <= ${upTo} order by seq desc`
      for (const { seq, id } of page) {
        const commandId = searched.get(tailOf(id))
        if (commandId) found.set(seq, commandId)
      }
      const earliest = page.at(-1)
      if (found.size === commandIds.length || !earliest || earliest.id < oldest) break
      if (isAhead(earliest.id) && ++pagesAhead === mostPagesAhead) break
    }
    const unknown = pagesAhead === mostPagesAhead ? commandIds.map((id) => [id, null] as const) : []
    if (found.size === 0) return new Map(unknown)
    const rows = await sql<StoredEvent[]>`
      select ${eventFields(sql)}, ${eventRows(sql)} from events e
      where e.project_id = ${projectId} and e.seq = any(${[...found.keys()]}::bigint[])`
    return new Map([...unknown, ...rows.map((event) => [found.get(event.seq)!, event] as const)])
  }
}

/** Answers the commands that are already committed, and returns the others. As a rule none can be, and nothing is read. */
export async function withoutLanded(
  find: FindLanded,
  states: State[],
  batch: QueuedCommand[],
): Promise<QueuedCommand[]> {
  const suspects = batch.filter((command) => command.isRecallable && isSuspect(states, command))
  if (suspects.length === 0) return batch
  const { projectId, version } = logOf(states, suspects[0]!)
  const ids = suspects.map(({ id }) => id)
  const landed = await find(projectId, version, ids)
  return batch.filter((command) => {
    const event = landed.get(command.id)
    const answer = event ? command.recall(event, logOf(states, command)) : undefined
    if (answer !== undefined) command.resolve(answer)
    const isUnknown = event === null && command.again === true
    if (isUnknown) command.reject(outcomeUnknown())
    return answer === undefined && !isUnknown
  })
}

/** The key whose reply must be looked up: the command's own key only when the command may be in the log. */
export const keyToFind = (states: State[], command: QueuedCommand): Guard | undefined =>
  command.guard && isOwn(command.guard) && !isSuspect(states, command) ? undefined : command.guard

/**
 * Whether a command may be in the log. A committed command is either older than the latest event found when the state was
 * loaded, or came of this very state: then only a retried command is decided twice.
 */
export function isSuspect(states: State[], command: QueuedCommand): boolean {
  if (command.again) return true
  const { loaded } = logOf(states, command)
  // Where a log is ahead of the clock, ids do not tell: a command that was made after it was loaded is not in it.
  return loaded.eventId >= command.id && !(isMadeAfter(command.id, loaded.at) && isAhead(loaded.eventId))
}

/** The state of the project that gets the command's first event: the target of a move. */
const logOf = (states: State[], { projectId, otherProjectId = projectId }: QueuedCommand): State =>
  states.length === 1 ? states[0]! : states.find((state) => state.projectId === otherProjectId)!
