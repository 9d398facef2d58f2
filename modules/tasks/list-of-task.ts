import { notFound } from '../../src/wire/refusals.ts'
import { isId } from '../../src/ids.ts'
import { cut, idPage, type Page, pageOf } from '../../src/reads/pages.ts'
import type { Serve } from '../../src/reads/cached-bodies.ts'
import { etagAt } from '../../src/reads/versions.ts'
import { pathOf } from '../../src/wire/answers.ts'
import type { Reading } from '../../src/commands/query.ts'
import type { SeeTask } from './queries.ts'

/** Answers a page of what hangs on a task. */
export function listOfTask<R extends { id: string }>(
  serve: Serve,
  seeTask: SeeTask,
  view: (row: R) => object,
  rowsOf: (taskId: string, page: Page) => PromiseLike<R[]>,
) {
  return async ({
    request,
    caller: { userId },
    params: { id: taskId = '' },
    query,
  }: Reading): Promise<Response> => {
    const asked = idPage(query, 50, 200)
    const task = isId(taskId) && (await seeTask({ userId, taskId }))
    if (!task) throw notFound('Task')
    const etag = etagAt(task)
    const build = async () =>
      pageOf(request, cut(await rowsOf(taskId, asked), asked.limit), view, ({ id }) => [id], etag)
    return serve(request, pathOf(request), etag, build, task.version)
  }
}
