import { createHash } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import { grouped } from '../postgres/grouped.ts'
import { maxId, nilId } from '../id-format.ts'
import type { Sql, SqlPart } from '../postgres/database.ts'
import { type Pair, visibleProject, visibleVersions } from '../reads/visible.ts'
import { MultiMap } from './subscription.ts'
import type { ProjectVersion } from './notifications.ts'
import {
  maxGrownProjects,
  maxListedProjects,
  type ProjectScope,
  type ProjectsSubscription,
  VisibleProjects,
} from './visible-projects.ts'

const maxPairs = 1_000
const maxPages = 50
const refreshEveryMs = 100

/**
 * One statement reads a version together with the right to see the project. Reads run one after another, so that no
 * result is older than the previous result.
 */
export class VisibleProjectsByUser {
  private readonly byScope = new Map<string, VisibleProjects>()
  private readonly byUser = new MultiMap<VisibleProjects>()
  private readonly viewers = new MultiMap<VisibleProjects>()
  private readonly outdated = new Map<string, Pair>()
  private readonly refreshSoon: (projects: VisibleProjects) => Promise<VisibleProjects>
  private last: Promise<unknown> = Promise.resolve()
  private isRefreshing = false

  constructor(private readonly sql: Sql) {
    this.refreshSoon = grouped({ keys: maxPages, slots: 1 }, async (pages) => {
      await this.inSequence(() => refreshPages(sql, pages))
      return pages
    })
  }

  async subscribe(scope: ProjectScope, signal: AbortSignal): Promise<ProjectsSubscription> {
    const projects = this.open(scope)
    const stream = projects.subscribe(() => {
      this.close(projects)
      projects.end()
    })
    const { end } = stream.subscription
    await this.refreshSoon(projects).catch((error: unknown) => {
      end()
      throw error
    })
    if (signal.aborted) end()
    else signal.addEventListener('abort', end, { once: true })
    return stream
  }

  /** Streams with the same scope share one object. */
  private open(scope: ProjectScope): VisibleProjects {
    const key = keyOf(scope)
    const opened = this.byScope.get(key)
    if (opened && !opened.isOverfull) return opened
    const projects = new VisibleProjects(scope, this.viewers)
    this.byScope.set(key, projects)
    this.byUser.add(scope.userId, projects)
    return projects
  }

  private close(projects: VisibleProjects): void {
    const key = keyOf(projects.scope)
    if (this.byScope.get(key) === projects) this.byScope.delete(key)
    this.byUser.delete(projects.scope.userId, projects)
  }

  onNotification({ projectId, version, newMembers = [] }: ProjectVersion): void {
    const markOutdated = (userId: string) =>
      void this.outdated.set(projectId + userId, { id: projectId, userId })
    for (const { scope, versions } of this.viewers.of(projectId))
      if (versions.get(projectId)! < version) markOutdated(scope.userId)
    for (const userId of newMembers) if (this.byUser.countOf(userId) > 0) markOutdated(userId)
    if (this.outdated.size > 0 && !this.isRefreshing) void this.refreshOutdated()
  }

  private async refreshOutdated(): Promise<void> {
    this.isRefreshing = true
    while (this.outdated.size > 0) {
      const rest = sleep(refreshEveryMs)
      const pairs = [...this.outdated.values()].slice(0, maxPairs)
      for (const { id, userId } of pairs) this.outdated.delete(id + userId)
      await this.inSequence(async () => {
        const versions = await visibleVersions(this.sql, pairs)
        for (const [n, { id, userId }] of pairs.entries())
          for (const projects of this.byUser.of(userId)) projects.update(id, versions[n])
      }).catch(() => {}) // the next `refreshAll` reads these projects again
      await rest
    }
    this.isRefreshing = false
  }

  async refreshAll(): Promise<void> {
    const all = [...this.byScope.values()]
    for (let i = 0; i < all.length; i += maxPages)
      await this.inSequence(() => refreshPages(this.sql, all.slice(i, i + maxPages)))
  }

  wakeAll(): void {
    for (const projects of this.byScope.values()) projects.wakeAll()
  }

  private inSequence<T>(read: () => Promise<T>): Promise<T> {
    const done = this.last.then(read)
    this.last = done.catch(() => {})
    return done
  }
}

const keyOf = ({ userId, afterProject, projects }: ProjectScope): string =>
  `${userId} ${afterProject} ${projects?.join() ?? ''}`

/** Reads the visible projects of several pages in one query. Postgres sends no row for a page without changes. */
async function refreshPages(sql: Sql, pages: VisibleProjects[]): Promise<void> {
  const users = pages.map(({ scope }) => scope.userId)
  const starts = pages.map(({ scope }) => scope.afterProject)
  const ends = pages.map(({ last }) => last ?? maxId)
  const limits = pages.map(({ last }) => (last === undefined ? maxListedProjects : maxGrownProjects + 1))
  // A bound token has at least one id in this list: the nil id, which no project has.
  const bound = pages.map(({ scope }) => scope.projects && [nilId, ...scope.projects].join())
  const digests = pages.map(({ asText }) => createHash('sha256').update(asText).digest('hex'))
  const rows = await sql<{ n: number; list: string | null; hasMore: boolean }[]>`
    select q.n::int4 as n, found.list, found.has_more
    from unnest(${users}::uuid[], ${starts}::uuid[], ${ends}::uuid[], ${limits}::bigint[],
      ${bound.map((ids) => ids ?? '')}::text[], ${digests}::text[])
      with ordinality q(user_id, start_id, end_id, max, bound, digest, n)
    cross join lateral (
      select string_agg(concat_ws(' ', mine.id, mine.version), ',' order by mine.id) filter (where n <= q.max) as list,
        count(*) > q.max as has_more
      from (select one.*, row_number() over (order by id) as n from (${projectsOf(sql)}) one) mine) found
    where found.has_more or encode(sha256(coalesce(found.list, '')::bytea), 'hex') <> q.digest`
  for (const { n, list, hasMore } of rows) {
    const seen = list?.split(',').map((one) => one.split(' ')) ?? []
    const versions = seen.map(([projectId = '', version]): [string, number] => [projectId, Number(version)])
    pages[n - 1]!.replaceAll(versions, hasMore && pages[n - 1]!.last === undefined)
  }
}

/** SQL for the projects of the page `q`, in the order of ids, at most one more than `max`. */
function projectsOf(sql: Sql) {
  const limit = sql`limit q.max + 1`
  const within = (id: SqlPart) => sql`${id} > q.start_id and ${id} <= q.end_id`
  return sql`
    (select p.id, s.version from projects p join streams s on s.project_id = p.id
      where q.bound = '' and p.owner_id = q.user_id and ${within(sql`p.id`)} order by p.id, p.created_at ${limit})
    union all
    (select p.id, s.version from members m join projects p on p.id = m.project_id
      join streams s on s.project_id = m.project_id
      where q.bound = '' and m.user_id = q.user_id and ${within(sql`m.project_id`)}
      order by m.project_id, m.created_at ${limit})
    union all
    (select p.id, s.version from unnest(string_to_array(q.bound, ',')::uuid[]) b(id)
      cross join lateral ${visibleProject(sql, sql`b.id`, sql`q.user_id`)} p join streams s on s.project_id = p.id
      where ${within(sql`p.id`)})
    order by id ${limit}`
}
