import { notFound } from '../../src/core/errors.ts'
import { isId } from '../../src/core/ids.ts'
import { cut, idPage, type Page, pageOf } from '../../src/core/pages.ts'
import type { Serve } from '../../src/core/serve.ts'
import { etagAt } from '../../src/core/versions.ts'
import { pathOf } from '../../src/core/wire.ts'
import type { Reading } from '../../src/http/ask-query.ts'
import type { SeeTask } from './queries.ts'

/** Answers a page of what hangs on a task. */
export function listOfTask<R extends { id: string }>(
  serve: Serve,
  seeTask: SeeTask,
  view: (row: R) => object,
  rowsOf: (taskId: string, page: Page) => PromiseLike<R[]>,
) {
  return async ({ request, caller, params: { id: taskId = '' }, query }: Reading): Promise<Response> => {
    const asked = idPage(query, 50, 200)
    const task = isId(taskId) && (await seeTask({ userId: caller, taskId }))
    if (!task) throw notFound('Task')
    const etag = etagAt(task)
    return serve(request, pathOf(request), etag, async () =>
      pageOf(request, cut(await rowsOf(taskId, asked), asked.limit), view, ({ id }) => [id], etag),
    )
  }
}
