import type { ChildOfTask } from '../../src/model/entities.ts'
import { notFound } from '../../src/wire/refusals.ts'
import { isId } from '../../src/ids.ts'
import type { Sql, SqlPart } from '../../src/postgres/database.ts'
import { cut, idPage, type Page, pageOf } from '../../src/reads/pages.ts'
import { etagAt } from '../../src/reads/versions.ts'
import { pathOf } from '../../src/wire/answers.ts'
import type { Reading } from '../../src/commands/query.ts'
import type { Services } from '../../src/services.ts'
import { askedThen, listThen } from './past.ts'
import type { SeeTask } from './queries.ts'

/** A list of what hangs on a task. */
export interface ListOfTask<R extends { id: string }> {
  entity: ChildOfTask
  view(row: R): object
  /** A page of it, from its table or from what else is told to be in it. */
  read(sql: Sql, taskId: string, page: Page, rows?: SqlPart): PromiseLike<R[]>
}

/** Answers a page of what hangs on a task. */
export function listOfTask<R extends { id: string }>(
  services: Services,
  seeTask: SeeTask,
  list: ListOfTask<R>,
) {
  const { database, serve } = services
  return async (reading: Reading): Promise<Response> => {
    const { request, caller, params, query } = reading
    const { id: taskId = '' } = params
    const asked = idPage(query, 50, 200)
    const then = askedThen(reading)
    if (then) return listThen(services, then, { ...list, page: asked })
    const task = isId(taskId) && (await seeTask(caller, taskId))
    if (!task) throw notFound('Task')
    const etag = etagAt(task)
    const build = async () =>
      pageOf(
        request,
        cut(await list.read(database.reads, taskId, asked), asked.limit),
        list.view,
        ({ id }) => [id],
        etag,
      )
    return serve(request, pathOf(request), etag, build, task.version)
  }
}
