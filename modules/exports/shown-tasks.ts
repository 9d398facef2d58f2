import type { TaskRow } from '../../drizzle/rows.ts'
import type { Entity } from '../../src/model/entities.ts'
import { hideDeletedReferences, referencedTasks } from '../../src/model/references.ts'
import type { FindPerson } from '../../src/reads/people.ts'
import { showClaims } from '../claims/shown.ts'
import { taskView } from '../tasks/schema.ts'
import type { ExportedTask, ShownTask } from './formats/format.ts'
import { authorsOf, existingTasks } from './rows.ts'
import type { ProjectParts, ExportedProject } from './exported-project.ts'

/** Returns tasks as their view shows them, without references to deleted rows. */
export async function shownTasks(
  exported: ExportedProject,
  { all, ids }: ProjectParts,
  rows: TaskRow[],
  hasAuthors: boolean,
  findPerson: FindPerson,
): Promise<ExportedTask[]> {
  const { sql, projectId, isPast } = exported
  const [existing, authors] = await Promise.all([
    existingTasks(sql, exported, [...new Set(rows.flatMap((row) => referencedTasks('task', row)))]),
    hasAuthors
      ? authorsOf(
          sql,
          projectId,
          rows.map(({ id }) => id),
        )
      : undefined,
  ])
  const has = (entity: Entity, id: string) => (entity === 'task' ? existing : ids(entity)).has(id)
  const state = { has, all: all as never, row: () => undefined }
  const { holderOf } = await showClaims(findPerson, rows, isPast)
  return rows.map((row) => {
    const shown = hideDeletedReferences(state, 'task', row)
    return {
      shown: taskView.of(shown, holderOf?.(row)) as ShownTask,
      author: authors?.get(row.id) ?? null,
    }
  })
}
