import type { CommentRow } from '../../drizzle/rows.ts'
import type { Sql } from '../../src/postgres/database.ts'
import { type Page, startOf, untilFull } from '../../src/reads/pages.ts'
import { comments as table } from '../../drizzle/schema/comments.ts'
import { known } from '../../src/postgres/columns.ts'

/** A comment with its author's name, who has none once the account is gone. */
export type ListedComment = CommentRow & { authorName: string | null }

/** A page of a task's comments, oldest first, with one row more than asked. */
export const commentsOf = (sql: Sql, taskId: string, page: Page, comments = sql`comments`) =>
  sql<ListedComment[]>`${untilFull(
    sql,
    sql`select ${known(sql, table, 'c')}, u.name as author_name from ${comments} c left join users u on u.id = c.author_id
    where c.task_id = ${taskId} and c.id > ${startOf(page)}
    order by c.id, c.created_at limit ${page.limit + 1}`,
    sql`octet_length(text)`,
  )}`
