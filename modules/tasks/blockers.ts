import type { TaskRow } from '../../drizzle/rows.ts'
import type { ProjectState } from '../../src/actor/state.ts'
import { isId } from '../../src/id-format.ts'
import { maxMoved } from '../../src/log/rows.ts'
import { type CheckedState, factQuery, type FactKind, type FactQuery } from '../../src/model/definition.ts'
import { type EventDraft, updated } from '../../src/model/events.ts'
import { textLength } from '../../src/model/model.ts'
import { invalid, conflict } from '../../src/responses/errors.ts'

/** The maximum number of tasks that block a task, directly or through other tasks. */
const maxBlockers = 5_000
/** Errors contain the numbers of this many tasks of a cycle. */
const maxNamed = 20

type Blocker = Pick<TaskRow, 'number' | 'blockedByIds'>

/** The tasks that block a task, directly or through other tasks; null for a task that is not in the project. */
type Blockers = Map<string, Blocker | null>

/** The shortest path from the task through its new blockers back to the task. @throws HttpError 409 */
function cycleThrough(task: TaskRow, newBlockerIds: string[], known: Blockers): Blocker[] | undefined {
  const blockedBy = new Map(newBlockerIds.map((id) => [id, task.id]))
  // The loop also visits the keys that it adds.
  for (const id of blockedBy.keys()) {
    const blocker = known.get(id)
    if (blocker === undefined || blockedBy.size > maxBlockers) throw tooManyBlockers()
    if (id === task.id) break
    for (const next of blocker?.blockedByIds ?? []) if (!blockedBy.has(next)) blockedBy.set(next, id)
  }
  if (!blockedBy.has(task.id)) return undefined
  const path: Blocker[] = [task]
  for (let id = blockedBy.get(task.id)!; id !== task.id; id = blockedBy.get(id)!) path.unshift(known.get(id)!)
  return [task, ...path]
}

export const blockers: FactKind<Blockers, string[]> = {
  create: () => new Map(),
  copy: (fact) => new Map(fact),
  apply(fact, { entity, entityId, after }) {
    if (entity === 'task') fact.set(entityId, after as TaskRow | null)
  },
  /** Also loads the rows of the new blockers, because a later command of the group may claim the task. */
  async load(sql, projectId, fact, wanted) {
    // `offset 0` keeps Postgres from reading all tasks of the project for each blocker.
    const task = sql`select id, number, blocked_by_ids from tasks
      where id = b.id and project_id = ${projectId} offset 0`
    /** @returns false if the tasks have more blockers than the limit; then only the nearest are loaded */
    const load = async (wantedIds: string[]) => {
      // Inputs also contain malformed ids, and the names of tasks that a batch creates.
      const ids = wantedIds.filter(isId)
      const rows = await sql<(Blocker & { id: string; isInProject: boolean })[]>`
        with recursive b(id) as (
          select unnest(${ids}::uuid[])
          union select unnest(t.blocked_by_ids) from b cross join lateral (${task}) t)
        select b.id, t.id is not null as is_in_project, t.number, t.blocked_by_ids
        from (select id from b limit ${maxBlockers + 1}) b left join lateral (${task}) t on true`
      for (const { id, isInProject, ...blocker } of rows) fact.set(id, isInProject ? blocker : null)
      return rows.length <= maxBlockers
    }
    const all = [...new Set(wanted.flat())]
    const isAll = await load(all)
    // Many blockers of one task must not cause the rejection of the group's other commands.
    if (!isAll && wanted.length > 1) for (const ids of wanted) await load(ids)
    return all.filter((id) => fact.get(id))
  },
}

const blockedByItself = () => invalid('blockedByIds', 'must not contain the task itself')
export const tooManyBlockers = () =>
  conflict(`A task can be blocked by at most ${maxBlockers} tasks, directly or through other tasks`)

function blockersInCycle(cycle: Pick<Blocker, 'number'>[]) {
  const [first, ...names] = cycle.map(({ number }) => `#${number}`)
  const omitted = names.length - maxNamed
  if (omitted > 0) names.splice(maxNamed - 1, omitted, `${omitted} more tasks`)
  return conflict(
    `blockedByIds must not form a cycle: ${first} is blocked by ${names.join(', which is blocked by ')}`,
  )
}

export const sampleCycle = () => blockersInCycle([{ number: 7 }, { number: 9 }, { number: 7 }])
export const blockerErrors = () => [blockedByItself(), sampleCycle(), tooManyBlockers()]

/** @throws HttpError 400, and 409 if a new blocker is blocked by the task, directly or through other tasks */
export function requireNoCycle(row: TaskRow, before: TaskRow | undefined, state: CheckedState): void {
  const newBlockerIds = row.blockedByIds!.filter((id) => !before?.blockedByIds?.includes(id))
  if (newBlockerIds.length === 0) return
  if (newBlockerIds.includes(row.id)) throw blockedByItself()
  const cycle = cycleThrough(row, newBlockerIds, state.fact(blockers))
  if (cycle) throw blockersInCycle(cycle)
}

interface BlockerInput {
  blockedByIds?: string[] | null
  addBlockedByIds?: string[]
}

export function blockerFacts({ blockedByIds, addBlockedByIds }: BlockerInput): FactQuery[] {
  if (!blockedByIds?.length && !addBlockedByIds?.length) return []
  return [factQuery(blockers, [...(blockedByIds ?? []), ...(addBlockedByIds ?? [])])]
}

/** The maximum number of tasks that one move changes because the moved task blocks them. */
const maxDependents = 500

/** The tasks that a moving task blocks. A move has a commit of its own, so no earlier event changes these tasks. */
export const dependents: FactKind<{ ids: string[] }, string> = {
  create: () => ({ ids: [] }),
  async load(sql, projectId, fact, taskIds) {
    // With a condition on the project, Postgres would read all tasks of the project instead of the index.
    const rows = await sql<{ id: string }[]>`
      with dependents as materialized (
        select id, project_id from tasks where blocked_by_ids && ${taskIds}::uuid[])
      select id from dependents where project_id = ${projectId} order by id limit ${maxDependents + 1}`
    fact.ids = rows.map(({ id }) => id)
    return fact.ids
  },
}

export const tooManyDependents = () =>
  conflict(
    `A task that blocks more than ${maxDependents} tasks, or ${maxMoved.characters} characters in them, cannot move to another project`,
  )

/** Removes a moving task from the blockers of the tasks that it leaves behind. @throws HttpError 409 */
export function releaseDependents(
  source: ProjectState,
  newIds: { newEventId(): string },
  now: string,
  movingId: string,
): EventDraft[] {
  const rows = source.fact(dependents).ids.map((id) => source.requireRow('task', id))
  const characters = rows.reduce((sum, row) => sum + textLength('task', row), 0)
  if (rows.length > maxDependents || characters > maxMoved.characters) throw tooManyDependents()
  return rows.map((row) => {
    const others = row.blockedByIds!.filter((id) => id !== movingId)
    const fields = { blockedByIds: others.length > 0 ? others : null, updatedAt: now }
    return updated(source, newIds, 'task.updated', row, fields)
  })
}

interface Holder {
  id: string
  number: number
}

/** The tasks that have the external ids of a group of commands. */
export const externalIds: FactKind<Map<string, Holder>, string> = {
  create: () => new Map(),
  copy: (fact) => new Map(fact),
  apply(fact, { entity, before, after }) {
    if (entity !== 'task') return
    const [old, now] = [before as Partial<TaskRow> | null, after as TaskRow | null]
    if (old?.externalId) fact.delete(old.externalId)
    if (now?.externalId) fact.set(now.externalId, now)
  },
  async load(sql, projectId, fact, wanted) {
    const rows = await sql<(Holder & { externalId: string })[]>`
      select t.id, t.number, t.external_id from unnest(${wanted}::text[]) q(external_id) cross join lateral (
        select * from tasks where project_id = ${projectId} and external_id = q.external_id limit 1) t`
    for (const { externalId, ...holder } of rows) fact.set(externalId, holder)
    return rows.map(({ id }) => id)
  },
}

export const externalIdTaken = (number: number) =>
  conflict(`externalId must be unique in the project: task ${number} has it`)

/** @throws HttpError 409 if another task of the project has the external id */
export function requireFreeExternalId({ id, externalId }: TaskRow, _: unknown, state: CheckedState): void {
  const holder = state.fact(externalIds).get(externalId!)
  if (holder && holder.id !== id) throw externalIdTaken(holder.number)
}

export const externalIdFacts = ({ externalId }: { externalId?: string | null }): FactQuery[] =>
  externalId ? [factQuery(externalIds, externalId.trim())] : []
