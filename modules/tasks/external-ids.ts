import type { EventDraft } from '../../src/model/events.ts'
import {
  type CheckedState,
  type Fact,
  factQuery,
  type FactKind,
  type FactQuery,
} from '../../src/model/definition.ts'
import type { TaskRow } from '../../drizzle/rows.ts'
import { conflict } from '../../src/responses/errors.ts'

interface Holder {
  id: string
  number: number
}

/** The tasks that have the external ids of a group of commands. */
class ExternalIds implements Fact {
  constructor(
    readonly projectId: string,
    private readonly holders = new Map<string, Holder>(),
  ) {}

  holderOf(externalId: string): Holder | undefined {
    return this.holders.get(externalId)
  }

  set(externalId: string, holder: Holder): void {
    this.holders.set(externalId, holder)
  }

  fork(): ExternalIds {
    return new ExternalIds(this.projectId, new Map(this.holders))
  }

  apply({ entity, before, after }: EventDraft): void {
    if (entity !== 'task') return
    const [old, now] = [before as Partial<TaskRow> | null, after as TaskRow | null]
    if (old?.externalId) this.holders.delete(old.externalId)
    if (now?.externalId) this.holders.set(now.externalId, now)
  }
}

export const externalIds: FactKind<ExternalIds, string> = {
  create: (projectId) => new ExternalIds(projectId),
  async load(sql, fact, wanted) {
    const rows = await sql<(Holder & { externalId: string })[]>`
      select t.id, t.number, t.external_id from unnest(${wanted}::text[]) q(external_id) cross join lateral (
        select * from tasks where project_id = ${fact.projectId} and external_id = q.external_id limit 1) t`
    for (const { externalId, ...holder } of rows) fact.set(externalId, holder)
    return rows.map(({ id }) => id)
  },
}

export const externalIdTaken = (number: number) =>
  conflict(`externalId must be unique in the project: task ${number} has it`)

/** @throws HttpError 409 if another task of the project has the external id */
export function requireFreeExternalId({ id, externalId }: TaskRow, _: unknown, state: CheckedState): void {
  const holder = state.fact(externalIds).holderOf(externalId!)
  if (holder && holder.id !== id) throw externalIdTaken(holder.number)
}

export const externalIdFacts = ({ externalId }: { externalId?: string | null }): FactQuery[] =>
  externalId ? [factQuery(externalIds, externalId.trim())] : []
