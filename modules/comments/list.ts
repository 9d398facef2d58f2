import type { CommentRow } from '../../drizzle/rows.ts'
import type { Sql } from '../../src/core/database.ts'
import { notFound } from '../../src/core/errors.ts'
import { digested } from '../../src/core/etags.ts'
import { isId } from '../../src/core/ids.ts'
import { cut, idPage, type Page, pageOf, startOf, untilFull } from '../../src/core/pages.ts'
import type { SeeTask } from '../tasks/queries.ts'
import { commentView } from './schema.ts'

type Query = { limit?: string; cursor?: string }
type ListedRow = CommentRow & { authorName: string | null }

/**
 * Answers a page of a task's comments, oldest first. Under a digest, not under the project's version: what an
 * author does to their account changes what the list says, and no project.
 */
export const listOfComments =
  (sql: Sql, seeTask: SeeTask) =>
  async (request: Request, caller: string, taskId: string, query: Query): Promise<Response> => {
    const asked = idPage(query, 50, 200)
    const task = isId(taskId) && (await seeTask({ userId: caller, taskId }))
    if (!task) throw notFound('Task')
    const rows = await commentsOf(sql, taskId, asked)
    const view = (row: ListedRow) => commentView(row, row.authorName)
    return digested(
      request,
      pageOf(request, cut(rows, asked.limit), view, ({ id }) => [id]),
    )
  }

/** With one row more than asked. */
const commentsOf = (sql: Sql, taskId: string, page: Page) =>
  sql<ListedRow[]>`${untilFull(
    sql,
    sql`select c.*, u.name as author_name from comments c left join users u on u.id = c.author_id
    where c.task_id = ${taskId} and c.id > ${startOf(page)}
    order by c.id, c.created_at limit ${page.limit + 1}`,
    sql`octet_length(text)`,
  )}`
