import { createHash } from 'node:crypto'
import type { ProjectRow } from '../../drizzle/schema.ts'
import { batched } from '../../src/core/batch.ts'
import type { Sql, SqlPart } from '../../src/core/database.ts'
import { inOrder } from '../../src/core/in-order.ts'
import { unpack } from '../../src/core/packed.ts'
import { type Cut, cut, hasRoom, type Page, startOf } from '../../src/core/pages.ts'

/** Projects by id, many in one query. */
export function openProjects(sql: Sql) {
  return batched({ keys: 500, slots: 2 }, async (ids: string[]) => {
    const rows = await sql<ProjectRow[]>`select * from projects where id = any(${ids}::uuid[])`
    return inOrder(ids, rows, (row) => row.id)
  })
}

/**
 * A page of the projects that a user owns or is a member of, oldest first, and its ETag. Of the rows after a full page
 * only the events are read: the ETag names them too, for looking at the texts of every page would cost more.
 */
export async function projectsOf(
  sql: Sql,
  userId: string,
  page: Page,
): Promise<Cut<ProjectRow> & { etag: string }> {
  const mine = ofUser(sql, sql`${userId}::uuid`, sql`${startOf(page)}::uuid`, sql`${page.limit + 1}::int`)
  const rows = await sql<(ProjectRow & { hasRoom: boolean })[]>`
    select id, owner_id, case when has_room then name end as name, case when has_room then description end as description,
      created_at, event_id, has_room
    from (select p.*, ${hasRoom(sql, sql`octet_length(description)`)} as has_room from (${mine}) p) p`
  const { shown, last } = cut(rows, page.limit)
  return { shown: shown.filter((row) => row.hasRoom), last, etag: etagOfPage(rows) }
}

/** The ETags of such pages, many in one query: the digests of what last touched each of their rows. */
export function openPageEtags(sql: Sql) {
  return batched({ keys: 100, slots: 2 }, async (keys: ({ userId: string } & Page)[]) => {
    const users = keys.map(({ userId }) => userId)
    const cursors = keys.map(startOf)
    const limits = keys.map(({ limit }) => String(limit + 1))
    const [row] = await sql<{ found: string | null }[]>`
      select string_agg(concat_ws(' ', q.n, encode(sha256(coalesce(page.events, '')::bytea), 'hex')), ',') as found
      from unnest(${users}::uuid[], ${cursors}::uuid[], ${limits}::text[])
        with ordinality q(user_id, after, most, n)
      cross join lateral (select string_agg(mine.event_id::text, '' order by mine.id) as events
        from (${ofUser(sql, sql`q.user_id`, sql`q.after`, sql`q.most::int`)}) mine) page`
    return unpack(keys.length, row?.found ?? null, ([digest]) => `"${digest}"`)
  })
}

/** The same for a page that is here. */
const etagOfPage = (rows: ProjectRow[]): string =>
  `"${createHash('sha256')
    .update(rows.map(({ eventId }) => eventId).join(''))
    .digest('hex')}"`

const ofUser = (sql: Sql, user: SqlPart, after: SqlPart, most: SqlPart) => sql`
  (select p.* from projects p where p.owner_id = ${user} and p.id > ${after} order by p.id, p.created_at limit ${most})
  union all
  (select p.* from members m join projects p on p.id = m.project_id
    where m.user_id = ${user} and m.project_id > ${after} order by m.project_id, m.created_at limit ${most})
  order by id limit ${most}`
