import type { OutboxJob } from '../jobs/queue.ts'
import type { Entity } from '../model/entities.ts'
import type { StoredEvent } from '../model/events.ts'
import { definitionOf } from '../model/model.ts'
import type { IdempotencyRecord } from './idempotency.ts'

/** A project as it was decided on, and as it is then. */
export interface CommitHead {
  projectId: string
  expected: number
  expectedEventId: string
  version: number
  lastNumber: number
  lastEventId: string
}

/** What one actor (two, for a move) wants committed: all of it or nothing. */
export interface CommitUnit {
  heads: CommitHead[]
  events: StoredEvent[]
  jobs: OutboxJob[]
  kept: IdempotencyRecord[]
}

/** How an event writes its row: inserts it, also over one that may still stand, updates it, or deletes it. */
export type RowWrite = 'add' | 'put' | 'set' | 'cut'

/** An event with the number of its unit. Only a row's last event writes the row; one that came and went leaves no trace. */
export type CommitEvent = StoredEvent & { unit: number; how: RowWrite | null }

interface Untold {
  unit: number
  entityId: string
  fields: object
}

/** The rows that the commit of some units writes, each with its unit's number. */
export interface Batch {
  heads: CommitHead[]
  facts: CommitEvent[]
  untold: Untold[]
  jobs: object[]
  kept: object[]
}

/** Sets the number of the unit on the unit's own objects: to copy each would cost more than all else here. */
export function batchOf(units: CommitUnit[]): Batch {
  const batch: Batch = { heads: [], facts: [], untold: [], jobs: [], kept: [] }
  for (const [unit, { heads, events, jobs, kept }] of units.entries()) {
    number(heads, unit, batch.heads)
    number(events, unit, batch.facts)
    number(jobs, unit, batch.jobs)
    number(kept, unit, batch.kept)
    settleHow(events as CommitEvent[])
    for (const { untold, entityId } of events)
      if (untold) addUntold(batch, { unit, entityId, fields: untold })
  }
  return batch
}

function number(rows: object[], unit: number, into: object[]): void {
  for (const row of rows as { unit: number }[]) {
    row.unit = unit
    into.push(row)
  }
}

function settleHow(facts: CommitEvent[]): void {
  if (facts.length === 1) return void (facts[0]!.how = howOf(facts[0]!, facts[0]!))
  const first = new Map<string, CommitEvent>()
  const last = new Map<string, CommitEvent>()
  for (const fact of facts) {
    const row = rowOf(fact)
    if (!first.has(row)) first.set(row, fact)
    last.set(row, fact)
    fact.how = null
  }
  for (const [row, fact] of last) fact.how = howOf(first.get(row)!, fact)
}

/** Clients make ids too: those of rows of two entities may be the same. */
const rowOf = ({ entity, entityId }: StoredEvent): string => entity + entityId

/** How a row is written, of which these are the first and the last event. */
function howOf({ before, entity, undoes }: StoredEvent, { after }: StoredEvent): RowWrite | null {
  // The children of a task that was deleted and restored may still stand, until a worker removes them.
  const mayStand = !before && undoes != null && definitionOf(entity).parent === 'task'
  if (after) return mayStand ? 'put' : before ? 'set' : 'add'
  const isCut = before ? !definitionOf(entity).isCutLater : mayStand
  return isCut ? 'cut' : null
}

/** Adds each row once: only the last event of a row writes these columns. */
function addUntold({ untold }: Batch, more: Untold): void {
  const same = untold.find(({ unit, entityId }) => unit === more.unit && entityId === more.entityId)
  if (same) same.fields = { ...same.fields, ...more.fields }
  else untold.push(more)
}

/** Whether rows of an entity have columns that no event holds. */
export const hasUntold = (name: Entity): boolean => definitionOf(name).untold !== undefined
