import type { OutboxJob } from '../jobs/queue.ts'
import type { Entity } from '../model/entities.ts'
import { observedType, type StoredEvent } from '../model/events.ts'
import { definitionOf, isPlainRow } from '../model/model.ts'
import type { IdempotencyRecord } from './idempotency.ts'

export interface CommitHead {
  /** The position of the unit in its commit, once it is known. */
  unit?: number
  projectId: string
  expected: number
  expectedEventId: string
  version: number
  lastNumber: number
  lastEventId: string
}

/** The changes of one actor, or of two actors for a move. All of them are committed, or none. */
export interface CommitUnit {
  heads: CommitHead[]
  events: StoredEvent[]
  jobs: OutboxJob[]
  records: IdempotencyRecord[]
  /** On the clock of performance.now(). After this time, the unit is not sent. */
  deadline: number
  /** True from the time when a statement may write the unit until it is certain that nothing was written. */
  isSent: boolean
}

/**
 * How an event writes its row. `insert_plain`: the row is plain, so the statement leaves out the optional columns. `upsert`: the old row may still exist,
 * because a worker deletes it later. Postgres executes the last part of a statement first, so a commit deletes rows before it inserts rows: it can
 * remove a member and invite the same user.
 */
export const rowWrites = ['insert', 'insert_plain', 'upsert', 'update', 'delete'] as const
export type RowWrite = (typeof rowWrites)[number]

/** Only a row's last event in the unit writes the row: `write` is null for earlier events, and for events that change no row. */
export type CommitEvent = StoredEvent & { unit: number; write: RowWrite | null }

/** The contents of several units. Each object has the field `unit`: the position of its unit in the commit. */
export interface CommitGroup {
  heads: CommitHead[]
  events: CommitEvent[]
  jobs: object[]
  records: (IdempotencyRecord & { unit?: number })[]
}

/** Sets `unit` on the existing objects: copies would cost more than the rest of this function. */
export function groupOf(units: CommitUnit[]): CommitGroup {
  const group: CommitGroup = { heads: [], events: [], jobs: [], records: [] }
  for (const [unit, { heads, events, jobs, records }] of units.entries()) {
    number(heads, unit, group.heads)
    number(events, unit, group.events)
    number(jobs, unit, group.jobs)
    number(records, unit, group.records)
    setWrites(events as CommitEvent[])
  }
  return group
}

function number(rows: object[], unit: number, into: object[]): void {
  for (const row of rows as { unit: number }[]) {
    row.unit = unit
    into.push(row)
  }
}

function setWrites(events: CommitEvent[]): void {
  if (events.length === 1) return void (events[0]!.write = writeOf(events[0]!, events[0]!))
  const first = new Map<string, CommitEvent>()
  const last = new Map<string, CommitEvent>()
  for (const event of events) {
    event.write = null
    if (event.type === observedType) continue
    const row = rowOf(event)
    const before = last.get(row)
    if (before?.unlogged) event.unlogged = { ...before.unlogged, ...event.unlogged }
    if (!first.has(row)) first.set(row, event)
    last.set(row, event)
  }
  for (const [row, event] of last) event.write = writeOf(first.get(row)!, event)
}

/** Clients can choose ids, so rows of two entities may have the same id. */
const rowOf = ({ entity, entityId }: StoredEvent): string => entity + entityId

function writeOf({ before, entity, undoes }: StoredEvent, { after, type }: StoredEvent): RowWrite | null {
  if (type === observedType) return null
  // A worker removes the children of a deleted task later. So the row of a restored child may still exist.
  const mayExist = !before && undoes != null && definitionOf(entity).parent === 'task'
  if (after)
    return mayExist ? 'upsert' : before ? 'update' : isPlain(entity, after) ? 'insert_plain' : 'insert'
  const isDeletedNow = before ? !definitionOf(entity).isDeletedByWorker : mayExist
  return isDeletedNow ? 'delete' : null
}

const isPlain = (entity: Entity, row: object): boolean =>
  definitionOf(entity).optionalColumns !== undefined && isPlainRow(entity, row)

export const hasUnlogged = (name: Entity): boolean => definitionOf(name).unlogged !== undefined
