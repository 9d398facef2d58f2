import { createHash } from 'node:crypto'
import type { ProjectRow } from '../../drizzle/rows.ts'
import { projects } from '../../drizzle/schema/projects.ts'
import type { Query } from '../../src/commands/query.ts'
import type { Caller } from '../../src/identity/rights.ts'
import { AsOfParameter, type Snapshot } from '../../src/log/as-of.ts'
import { firstRows, rowSources } from '../../src/log/rows-at.ts'
import { grouped, inOrder, readRows } from '../../src/postgres/grouped.ts'
import { columnList } from '../../src/postgres/columns.ts'
import type { Sql, SqlPart } from '../../src/postgres/database.ts'
import { unprepared } from '../../src/postgres/timeouts.ts'
import { requireVisible, type VisibleProject } from '../../src/reads/lookups.ts'
import { nameTag, nameTagOf } from '../../src/reads/versions.ts'
import {
  Cursor,
  Limit,
  readIdPage,
  pageOf,
  type PageRows,
  cutToLimit,
  hasRoom,
  type Page,
  idBeforePage,
} from '../../src/reads/pages.ts'
import type { Place } from '../../src/reads/standbys.ts'
import { ofToken } from '../../src/reads/visible.ts'
import { notFound } from '../../src/responses/errors.ts'
import { etagOf, pathAndQuery, respond } from '../../src/responses/reply.ts'
import { Input } from '../../src/schema/input.ts'
import type { Services } from '../../src/services.ts'
import { projectView } from './schema.ts'

export function listProjects({ database: { reads: sql }, serve }: Services): Query {
  const pageEtag = openPageEtags(sql)
  return {
    about: 'Returns the projects that the caller owns or is a member of, oldest first.',
    input: Input({ limit: Limit(1_000, 1_000), cursor: Cursor() }),
    view: projectView,
    isList: true,
    async read({ request, caller, query }) {
      const { userId, token } = caller
      const wanted = readIdPage(query, 1_000, 1_000)
      const build = async () => {
        const found = await projectsOf(sql, caller, wanted)
        return pageOf(request, found, shown, ({ id }) => [id], found.etag)
      }
      if (token?.projects) return respond(request, await build())
      const etag = (await pageEtag({ userId, ...wanted })) ?? ''
      return serve(request, userId + pathAndQuery(request), etag, build)
    },
  }
}

export function getProject(services: Services): Query {
  const { database, findRole, place, snapshots, serve } = services
  const findProject = openProjects(database.reads, place)
  return {
    about: 'Returns the project with the current name of its owner.',
    input: Input({ asOf: AsOfParameter() }),
    errors: [...snapshots.errors, notFound('Project')],
    view: projectView,
    async read({ request, caller, params: { id = '' }, query: { asOf } }) {
      const seen = await requireVisible(findRole, caller, id)
      if (asOf !== undefined) {
        const snapshot = await snapshots.find(seen, asOf)
        const row = snapshot && (await snapshots.read(caller, snapshot, (sql) => projectAt(sql, snapshot)))
        if (!row) throw notFound('Project')
        return respond(request, bodyOf(row), snapshot.version)
      }
      const build = async () => {
        const project = await findProject(seen)
        if (!project) throw notFound('Project')
        return bodyOf(project)
      }
      return serve(request, id, etagOf(seen, nameTagOf(seen.renaming)), build, seen.version)
    },
  }
}

const bodyOf = (project: ListedProject) => {
  return { etag: etagOf(project, project.nameTag), body: JSON.stringify(shown(project)), link: null }
}

function shown(row: ListedProject): object {
  const { ownerName: name, ownerEmail: email, nameTag } = row
  const owner = name !== null && email !== null ? { id: row.ownerId, name, email, nameTag } : undefined
  return projectView.of(row, owner)
}

/** The owner's name and email are null after the account is deleted. */
interface ListedProject extends ProjectRow {
  ownerName: string | null
  ownerEmail: string | null
  nameTag: string
}

const owner = (sql: Sql) => sql`
  u.name as owner_name, u.email as owner_email, ${nameTag(sql)} as name_tag`

function openProjects(sql: Sql, place: Place) {
  return grouped({ keys: 500, slots: 2 }, async (seen: VisibleProject[]) => {
    const ids = seen.map(({ projectId }) => projectId)
    const rows = await place(sql, { projects: seen })<ListedProject[]>`
      select ${columnList(sql, projects, 'p')}, ${owner(sql)} from projects p left join users u on u.id = p.owner_id where p.id = any(${ids}::uuid[])`
    return inOrder(ids, rows, (row) => row.id)
  })
}

async function projectAt(sql: Sql, snapshot: Snapshot): Promise<ListedProject | undefined> {
  const one = { where: sql`t.id = ${snapshot.projectId}`, by: sql`t.id`, limit: 1 }
  const [row] = await unprepared(sql<ListedProject[]>`
    select p.*, ${owner(sql)} from ${firstRows(sql, rowSources(sql, 'project', snapshot), one)} p
    left join users u on u.id = p.owner_id`)
  return row
}

/** The ETag also covers rows beyond the page's bytes: `openPageEtags` need not measure texts. */
export async function projectsOf(
  sql: Sql,
  { userId, token }: Caller,
  page: Page,
): Promise<PageRows<ListedProject> & { etag: string }> {
  const place = [sql`${idBeforePage(page)}::uuid`, sql`${page.limit + 1}::int`] as const
  const mine = ofUser(sql, sql`${userId}::uuid`, ...place, token?.projects)
  const query = sql<(ListedProject & { hasRoom: boolean })[]>`
    select p.id, p.owner_id, case when has_room then p.name end as name,
      case when has_room then p.description end as description, p.created_at, p.event_id, p.text_edits, ${owner(sql)}, has_room
    from (select p.*, ${hasRoom(sql, sql`octet_length(description)`)} as has_room from (${mine}) p) p
    left join users u on u.id = p.owner_id order by p.id`
  const rows = await (token?.projects ? unprepared(query) : query)
  const { rows: shown, last } = cutToLimit(rows, page.limit)
  return { rows: shown.filter((row) => row.hasRoom), last, etag: etagOfPage(rows) }
}

/** Computes the ETags of many pages in one query. An ETag is a digest of the last event of each project on the page. */
function openPageEtags(sql: Sql) {
  return grouped({ keys: 100, slots: 2 }, async (keys: ({ userId: string } & Page)[]) => {
    const users = keys.map(({ userId }) => userId)
    const cursors = keys.map(idBeforePage)
    const limits = keys.map(({ limit }) => String(limit + 1))
    const [row] = await sql<{ found: string | null }[]>`
      select string_agg(concat_ws(' ', q.n, encode(sha256(coalesce(page.events, '')::bytea), 'hex')), ',') as found
      from unnest(${users}::uuid[], ${cursors}::uuid[], ${limits}::text[])
        with ordinality q(user_id, after, max, n)
      cross join lateral (select string_agg(mine.event_id || ${nameTag(sql)}, '' order by mine.id) as events
        from (${ofUser(sql, sql`q.user_id`, sql`q.after`, sql`q.max::int`)}) mine) page`
    return readRows(keys.length, row?.found ?? null, ([digest]) => `"${digest}"`)
  })
}

const etagOfPage = (rows: ListedProject[]): string =>
  `"${createHash('sha256')
    .update(rows.map(({ eventId, nameTag }) => eventId + nameTag).join(''))
    .digest('hex')}"`

const ofUser = (sql: Sql, user: SqlPart, after: SqlPart, max: SqlPart, projectIds?: string[] | null) => sql`
  (select p.* from projects p
    where p.owner_id = ${user} and p.id > ${after} ${ofToken(sql, projectIds)} order by p.id, p.created_at limit ${max})
  union all
  (select p.* from members m join projects p on p.id = m.project_id
    where m.user_id = ${user} and m.project_id > ${after} ${ofToken(sql, projectIds)} order by m.project_id, m.created_at limit ${max})
  order by id limit ${max}`
