import { notFound } from '../../src/core/errors.ts'
import { isId } from '../../src/core/ids.ts'
import { cut, idPage, type Page, pageOf } from '../../src/core/pages.ts'
import type { Serve } from '../../src/core/serve.ts'
import { etagAt } from '../../src/core/versions.ts'
import { pathOf } from '../../src/core/wire.ts'
import type { SeeTask } from './queries.ts'

/** Answers a page of what hangs on a task: its subtasks or its comments. */
export function listOfTask<R extends { id: string }>(
  serve: Serve,
  seeTask: SeeTask,
  view: (row: R) => object,
  rowsOf: (taskId: string, page: Page) => PromiseLike<R[]>,
) {
  return async (
    request: Request,
    caller: string,
    taskId: string,
    query: { limit?: string; cursor?: string },
  ) => {
    const asked = idPage(query, 50, 200)
    const task = isId(taskId) && (await seeTask({ userId: caller, taskId }))
    if (!task) throw notFound('Task')
    const etag = etagAt(task)
    return serve(request, pathOf(request), etag, async () =>
      pageOf(request, cut(await rowsOf(taskId, asked), asked.limit), view, ({ id }) => [id], etag),
    )
  }
}
