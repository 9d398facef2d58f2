import { openChildPage } from '../../src/log/child-page.ts'
import type { Moment } from '../../src/log/as-of.ts'
import { sourcesOf } from '../../src/log/rows-at.ts'
import { isArrivalTold, rowsTold } from '../../src/log/told-children.ts'
import type { Definition } from '../../src/model/definition.ts'
import type { ChildOfTask, Entity } from '../../src/model/entities.ts'
import type { Sql, SqlPart } from '../../src/postgres/database.ts'
import { unprepared } from '../../src/postgres/queries.ts'
import { gone, type OldestKept } from '../../src/reads/kept.ts'
import type { Page } from '../../src/reads/pages.ts'
import { taskThen } from '../tasks/queries-then.ts'

interface Asked {
  moment: Moment
  parentId: string
  page: Page
}

/** A page of children as they were at a moment; undefined if there was no such parent. @throws Refusal 410 */
export async function childPageThen<E extends Entity>(
  { sql, oldestKept }: { sql: Sql; oldestKept: OldestKept },
  { name, parent }: Definition<E>,
  { moment, parentId, page }: Asked,
) {
  const isOfTask = parent === 'task'
  const pageOf = openChildPage(sql, name, moment)
  const read = (sources: SqlPart[]) => unprepared(pageOf(parentId, page, sources))
  const rows = await read(sourcesOf(sql, name, moment, isOfTask ? parentId : undefined))
  if (!isOfTask) return rows
  // Read after the rows: a task that exists now existed when they were read.
  const task = await taskThen(sql, moment, parentId)
  if (!task?.isGone) return task && rows
  const told = await read([rowsTold(sql, name as ChildOfTask, moment, parentId)])
  if (await isArrivalTold(sql, moment, parentId)) return told
  throw gone((await oldestKept(moment.projectId)) ?? 1)
}
