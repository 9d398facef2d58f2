import { createHash } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import { maxId, nilId } from '../id-format.ts'
import { grouped } from '../postgres/grouped.ts'
import type { Sql, SqlPart } from '../postgres/database.ts'
import { type Pair, visibleProject, visibleVersions } from '../reads/visible.ts'
import type { ProjectVersion } from './notifications.ts'
import { endAtAbort, MultiMap, Subscription } from './subscription.ts'

const maxListedProjects = 1_000
/** A page grows if the user becomes a member of projects within the page. Its streams end above this number. */
const maxGrownProjects = 2 * maxListedProjects
const maxPairs = 1_000
const maxPages = 50
const refreshEveryMs = 100

/** The projects of a stream: the user's projects after an id, or the projects that an API token is bound to. */
export interface ProjectScope {
  userId: string
  afterProject: string
  projects: string[] | null
}

export interface ListedVersion {
  projectId: string
  version: number | null
}

/** The user has more projects after `last`, which ends a page of `told` projects. */
export interface MoreProjects {
  told: number
  last: string
}

/**
 * A page of the projects that a user sees. When the page is full, `last` becomes its end and does not change any more:
 * other streams begin after `last`, so every project belongs to the page of exactly one of these streams. Changes have
 * numbers, so a slow stream receives each project once, with its latest version.
 */
export class VisibleProjects {
  readonly versions = new Map<string, number>()
  last: string | undefined
  changes = 0
  private endedAt = 0
  /** The number of the last change of each project, also of projects that the user no longer sees. */
  private readonly changedAt = new Map<string, number>()
  private readonly streams = new Set<Subscription>()
  private isClosed = false

  constructor(
    readonly scope: ProjectScope,
    private readonly viewers: MultiMap<VisibleProjects>,
  ) {}

  /** True if the page has grown too much: its streams must end. */
  get isOverfull(): boolean {
    return this.changedAt.size > maxGrownProjects
  }

  get more(): MoreProjects | undefined {
    const { last, versions } = this
    return last === undefined ? undefined : { told: versions.size, last }
  }

  get asText(): string {
    const texts = [...this.versions].map((one) => one.join(' '))
    return texts.sort().join()
  }

  /**
   * Returns the changes after the change with this number; `more` if the page has become full since.
   * @param openedAt the last change before the stream began. Leaves out projects that were removed up to this change
   */
  changesAfter(
    change: number,
    openedAt: number,
  ): { versions: ListedVersion[]; more?: MoreProjects | undefined } {
    const changed = [...this.changedAt].filter(([, at]) => at > change)
    const versions = changed.flatMap(([projectId, at]) => {
      const version = this.versions.get(projectId) ?? null
      return version !== null || at > openedAt ? { projectId, version } : []
    })
    return { versions, more: this.endedAt > change ? this.more : undefined }
  }

  /** The versions of the subscription are the numbers of the changes. */
  subscribe(onLast: () => void): Subscription {
    const subscription = new Subscription(this.changes, () => {
      if (this.streams.delete(subscription) && this.streams.size === 0) onLast()
    })
    this.streams.add(subscription)
    return subscription
  }

  /** @param version undefined if the user may not see the project */
  update(projectId: string, version: number | undefined): void {
    // A read may end after the last stream. Its result must not add this object to `viewers` again.
    if (this.isClosed || !this.includes(projectId)) return
    const previous = this.versions.get(projectId)
    if (previous === version) return
    if (version === undefined) {
      this.versions.delete(projectId)
      this.viewers.delete(projectId, this)
    } else {
      if (previous === undefined && this.versions.size >= maxListedProjects && this.isAfterAll(projectId))
        return
      this.versions.set(projectId, version)
      if (previous === undefined) this.viewers.add(projectId, this)
    }
    this.changedAt.set(projectId, this.nextChange())
  }

  private includes(projectId: string): boolean {
    const { afterProject, projects } = this.scope
    if (projectId <= afterProject || (this.last !== undefined && projectId > this.last)) return false
    return !projects || projects.includes(projectId)
  }

  /** True if the project sorts after all projects of the page. The page then ends before this project. */
  private isAfterAll(projectId: string): boolean {
    if (this.last !== undefined) return false
    const last = [...this.versions.keys()].reduce((a, b) => (a > b ? a : b))
    if (projectId < last) return false
    this.endAt(last)
    return true
  }

  private endAt(last: string): void {
    this.last = last
    for (const projectId of this.changedAt.keys()) {
      if (projectId <= last) continue
      this.changedAt.delete(projectId)
      this.versions.delete(projectId)
      this.viewers.delete(projectId, this)
    }
    this.endedAt = this.nextChange()
  }

  private nextChange(): number {
    this.changes++
    for (const { wake } of this.streams) wake(this.changes)
    return this.changes
  }

  /** @param all the visible projects of the page. @param hasMore true if the page is full, and more projects follow */
  replaceAll(all: [projectId: string, version: number][], hasMore: boolean): void {
    const ids = new Set(all.map(([projectId]) => projectId))
    if (hasMore) this.endAt(all.at(-1)![0])
    for (const projectId of [...this.versions.keys()])
      if (!ids.has(projectId)) this.update(projectId, undefined)
    for (const [projectId, version] of all) this.update(projectId, version)
  }

  close(): void {
    this.isClosed = true
    for (const projectId of this.versions.keys()) this.viewers.delete(projectId, this)
  }

  wakeAll(): void {
    for (const { wake } of this.streams) wake()
  }
}

/**
 * One statement reads a version together with the right to see the project. Reads run one after another, so that no
 * result is older than the previous result.
 */
export class VisibleProjectsByUser {
  private readonly byScope = new Map<string, VisibleProjects>()
  private readonly byUser = new MultiMap<VisibleProjects>()
  private readonly viewers = new MultiMap<VisibleProjects>()
  private readonly outdated = new Map<string, Pair>()
  private readonly refreshSoon: (page: VisibleProjects) => Promise<VisibleProjects>
  private last: Promise<unknown> = Promise.resolve()
  private isRefreshing = false

  constructor(private readonly sql: Sql) {
    this.refreshSoon = grouped({ keys: maxPages, slots: 1 }, async (pages) => {
      await this.inSequence(() => refreshPages(sql, pages))
      return pages
    })
  }

  /** Streams with the same scope share a page. */
  async subscribe(scope: ProjectScope, signal: AbortSignal) {
    const key = `${scope.userId} ${scope.afterProject} ${scope.projects?.join() ?? ''}`
    let page = this.byScope.get(key)
    if (!page || page.isOverfull) {
      page = new VisibleProjects(scope, this.viewers)
      this.byScope.set(key, page)
      this.byUser.add(scope.userId, page)
    }
    const opened = page
    const subscription = page.subscribe(() => {
      if (this.byScope.get(key) === opened) this.byScope.delete(key)
      this.byUser.delete(scope.userId, opened)
      opened.close()
    })
    await this.refreshSoon(page).catch((error: unknown) => {
      subscription.end()
      throw error
    })
    endAtAbort(subscription, signal)
    return { page, subscription }
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
          for (const page of this.byUser.of(userId)) page.update(id, versions[n])
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
    for (const page of this.byScope.values()) page.wakeAll()
  }

  private inSequence<T>(read: () => Promise<T>): Promise<T> {
    const done = this.last.then(read)
    this.last = done.catch(() => {})
    return done
  }
}

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
