import { Type } from '@sinclair/typebox'
import { IdOf } from '../../src/commands/input.ts'
import type { Reading } from '../../src/commands/query.ts'
import { canonicalId, isId } from '../../src/ids.ts'
import { AsOfParameter, pinned, readAsOf } from '../../src/log/as-of.ts'
import type { Moment } from '../../src/log/moments.ts'
import { isArrivalTold } from '../../src/log/rows-told.ts'
import type { Sql, SqlPart } from '../../src/postgres/database.ts'
import { unprepared } from '../../src/postgres/queries.ts'
import { gone, type OldestKept } from '../../src/reads/kept.ts'
import { cut, type Page, pageOf } from '../../src/reads/pages.ts'
import type { Services } from '../../src/services.ts'
import { etagOf } from '../../src/wire/answers.ts'
import { digested, tagged } from '../../src/wire/etags.ts'
import { badRequest, notFound } from '../../src/wire/refusals.ts'
import type { ListOfTask } from './list-of-task.ts'
import { childrenThen, placeOf, taskThen } from './queries-then.ts'
import { taskView } from './schema.ts'

/** In plain reads: by an instant, many events of the task may be looked through. */
const costOfPlace = 10

type Means = Pick<Services, 'findRole' | 'moments' | 'oldestKept' | 'spend'>
type Asked = Reading & { asOf: string }

/** The parameters by which what is asked of a task is asked of its past. */
export const asOfTask = () => ({
  asOf: AsOfParameter(),
  projectId: Type.Optional(
    Type.Unsafe<string>({
      ...IdOf('project'),
      description:
        'With asOf: the id of the project whose version that is, where the task may have moved since',
    }),
  ),
})
export const withoutAsOf = () => badRequest('projectId goes with asOf: it says whose version that is')

/** What a read of a task asks of the past, if anything. @throws Refusal 400 */
export function askedThen(reading: Reading): Asked | undefined {
  const { asOf, projectId } = reading.query
  if (asOf !== undefined) return { ...reading, asOf }
  if (projectId !== undefined) throw withoutAsOf()
  return undefined
}

/** Answers a task as it stood. */
export async function showThen(means: Means, asked: Asked): Promise<Response> {
  const moment = await momentOf(means, asked)
  const task = await means.moments.read(asked.caller, moment, (sql) =>
    taskThen(sql, moment, asked.params.id!),
  )
  if (!task) throw notFound('Task')
  const body = JSON.stringify(taskView.of(task))
  return tagged(asked.request, { etag: etagOf(task), body, link: null }, moment.version)
}

type ListThen<R extends { id: string }> = ListOfTask<R> & { page: Page }

/** Answers a page of what hung on a task. */
export async function listThen<R extends { id: string }>(
  means: Means,
  asked: Asked,
  list: ListThen<R>,
): Promise<Response> {
  const moment = await momentOf(means, asked)
  const rows = await means.moments.read(asked.caller, moment, (sql) =>
    rowsOf(sql, means.oldestKept, { ...list, moment, taskId: asked.params.id! }),
  )
  if (!rows) throw notFound('Task')
  const page = cut(rows, list.page.limit)
  const shown = pageOf(pinned(asked.request, moment), page, list.view, ({ id }) => [id])
  return digested(asked.request, shown, moment.version)
}

/** Undefined when there was no such task. @throws Refusal 410 */
async function rowsOf<R extends { id: string }>(
  sql: Sql,
  oldestKept: OldestKept,
  about: ListThen<R> & { moment: Moment; taskId: string },
): Promise<R[] | undefined> {
  const { moment, taskId } = about
  const read = (rows: SqlPart) => unprepared(about.read(sql, taskId, about.page, rows))
  const then = childrenThen(sql, about)
  const standing = await read(then.standing())
  // Asked afterwards: when it had not gone by now, it had not by then.
  const task = await taskThen(sql, moment, taskId)
  if (!task?.isGone) return task && standing
  const told = await read(then.told())
  if (!(await isArrivalTold(sql, moment, taskId))) throw gone((await oldestKept(moment.projectId)) ?? 1)
  return told
}

/**
 * Unless told, a version is one of the project that the task is in, or was in last; by an instant it may have been in
 * another. The caller must be in that project today. @throws Refusal 400 or 404
 */
async function momentOf({ findRole, moments, spend }: Means, asked: Asked): Promise<Moment> {
  const { caller, params, query, asOf } = asked
  const { id: taskId = '' } = params
  if (!isId(taskId)) throw notFound('Task')
  const at = readAsOf(asOf)
  const instant = typeof at === 'string' ? at : null
  const place = { taskId, userId: caller.userId, instant, most: moments.most }
  const told = query.projectId && canonicalId(query.projectId)
  const projectId =
    told ?? (await spend(caller, instant === null ? 1 : costOfPlace, (sql) => placeOf(sql, place)))
  const seen = projectId && isId(projectId) && (await findRole(caller, projectId))
  const moment = seen && (await moments.find(seen, asOf))
  if (!moment) throw notFound('Task')
  return moment
}
