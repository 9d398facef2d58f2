import type { TaskRow } from '../../drizzle/rows.ts'
import type { ProjectState } from '../../src/actor/state.ts'
import { maxMoved } from '../../src/log/children.ts'
import { type EventDraft, updated } from '../../src/model/events.ts'
import { type Fact, factQuery, type FactKind, type FactQuery } from '../../src/model/facts.ts'
import { textLength } from '../../src/model/model.ts'
import { conflict } from '../../src/responses/errors.ts'

/** The maximum number of tasks that one move changes because the moved task blocks them. */
const maxDependents = 500

/** The tasks that a moving task blocks. A move has a commit of its own, so no earlier event changes these tasks. */
class Dependents implements Fact {
  ids: string[] = []

  constructor(readonly projectId: string) {}

  fork(): Dependents {
    return this
  }

  apply(): void {}
}

export const dependents: FactKind<Dependents, string> = {
  create: (projectId) => new Dependents(projectId),
  async load(sql, fact, taskIds) {
    // With a condition on the project, Postgres would read all tasks of the project instead of the index.
    const rows = await sql<{ id: string }[]>`
      with dependents as materialized (
        select id, project_id from tasks where blocked_by_ids && ${taskIds}::uuid[])
      select id from dependents where project_id = ${fact.projectId} order by id limit ${maxDependents + 1}`
    fact.ids = rows.map(({ id }) => id)
    return fact.ids
  },
}

export const dependentFacts = ({ id }: Partial<TaskRow>): FactQuery[] => [factQuery(dependents, id!)]

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
