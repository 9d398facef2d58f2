import { setTimeout as sleep } from 'node:timers/promises'
import { maxId, nilId } from '../id-format.ts'
import { grouped } from '../postgres/grouped.ts'
import type { Sql, SqlPart } from '../postgres/database.ts'
import { visibleProject } from '../reads/visible.ts'
import type { ProjectVersion } from './notifications.ts'
import { endAtAbort, Subscription } from './subscription.ts'

const maxListedProjects = 1_000
/** A page grows if the user becomes a member of projects within the page. Its streams end above this number. */
const maxGrownProjects = 2 * maxListedProjects
const maxPages = 50
const refreshEveryMs = 100
/** The pause after a refresh, in durations of the refresh. It bounds the work of Postgres when many pages change. */
const pauseRatio = 4

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

/** The versions by project id. A refresh replaces the map, so that a stream can compare it with the one it has sent. */
type Versions = ReadonlyMap<string, number>

/**
 * A page of the projects that a user sees. When the page is full, `last` becomes its end and does not change any more:
 * other streams begin after `last`, so every project belongs to the page of exactly one of these streams.
 */
export class VisibleProjects {
  versions: Versions = new Map()
  /** The SHA-256 of the versions in Postgres, in hexadecimal digits. */
  digest = ''
  last: string | undefined
  /** True if the page has grown too much: its streams must end. */
  isOverfull = false
  readonly streams = new Set<Subscription>()

  constructor(readonly scope: ProjectScope) {}

  /** The user has more projects after `last`, which ends a page of `told` projects. */
  get more(): { told: number; last: string } | undefined {
    const { last, versions } = this
    return last === undefined ? undefined : { told: versions.size, last }
  }

  /** Returns the changes since `sent`; all versions without `sent`. */
  changesSince(sent: Versions = new Map()): ListedVersion[] {
    const { versions, last = maxId } = this
    const changed = [...versions].filter(([id, version]) => sent.get(id) !== version)
    const removed = [...sent.keys()].filter((id) => id <= last && !versions.has(id))
    return [
      ...changed.map(([projectId, version]) => ({ projectId, version })),
      ...removed.map((projectId) => ({ projectId, version: null })),
    ]
  }

  replace(versions: Versions, digest: string, hasMore: boolean): void {
    this.isOverfull = hasMore && this.last !== undefined
    if (hasMore) this.last ??= [...versions.keys()].at(-1)
    this.versions = versions
    this.digest = digest
    this.wakeAll()
  }

  /** @param changed ids of projects, and of users who became members */
  isOutdatedBy(changed: Set<string>): boolean {
    const { versions, scope } = this
    if (changed.has(scope.userId)) return true
    return changed.size < versions.size
      ? changed.values().some((id) => versions.has(id))
      : versions.keys().some((id) => changed.has(id))
  }

  wakeAll(): void {
    for (const { wake } of this.streams) wake()
  }
}

/** Streams with the same scope share a page. Each refresh reads the versions together with the rights of the users. */
export function openVisibleProjects(sql: Sql) {
  const pages = new Map<string, VisibleProjects>()
  let changed = new Set<string>()
  let isRefreshing = false

  // Reads run one after another, so that no result is older than the previous result.
  const refresh = grouped({ keys: maxPages, slots: 1 }, async (some: VisibleProjects[]) => {
    await refreshPages(sql, some)
    return some
  })

  async function refreshEach(some: VisibleProjects[]): Promise<void> {
    for (let i = 0; i < some.length; i += maxPages)
      await Promise.all(some.slice(i, i + maxPages).map(refresh))
  }

  async function refreshOutdated(): Promise<void> {
    isRefreshing = true
    while (changed.size > 0) {
      const began = performance.now()
      const latest = changed
      changed = new Set()
      const outdated = [...pages.values()].filter((page) => page.isOutdatedBy(latest))
      await refreshEach(outdated).catch(() => {}) // the next poll reads these pages again
      await sleep(Math.max(refreshEveryMs, pauseRatio * (performance.now() - began)))
    }
    isRefreshing = false
  }

  return {
    async subscribe(scope: ProjectScope, signal: AbortSignal) {
      const key = `${scope.userId} ${scope.afterProject} ${scope.projects?.join() ?? ''}`
      let page = pages.get(key)
      if (!page || page.isOverfull) pages.set(key, (page = new VisibleProjects(scope)))
      const opened = page
      const subscription = new Subscription(0, () => {
        opened.streams.delete(subscription)
        if (opened.streams.size === 0 && pages.get(key) === opened) pages.delete(key)
      })
      opened.streams.add(subscription)
      await refresh(opened).catch((error: unknown) => {
        subscription.end()
        throw error
      })
      endAtAbort(subscription, signal)
      return { page: opened, subscription }
    },

    onNotification({ projectId, newMembers = [] }: ProjectVersion): void {
      if (pages.size === 0) return
      for (const id of [projectId, ...newMembers]) changed.add(id)
      if (!isRefreshing) void refreshOutdated()
    },

    refreshAll: () => refreshEach([...pages.values()]),
    wakeAll: () => pages.forEach((page) => page.wakeAll()),
  }
}

/** Reads the visible projects of several pages in one query. Postgres sends no row for a page without changes. */
async function refreshPages(sql: Sql, pages: VisibleProjects[]): Promise<void> {
  const users = pages.map(({ scope }) => scope.userId)
  const starts = pages.map(({ scope }) => scope.afterProject)
  const ends = pages.map(({ last }) => last ?? maxId)
  const limits = pages.map(({ last }) => (last === undefined ? maxListedProjects : maxGrownProjects))
  // A bound token has at least one id in this list: the nil id, which no project has.
  const bound = pages.map(({ scope }) => (scope.projects ? [nilId, ...scope.projects].join() : ''))
  const digests = pages.map(({ digest }) => digest)
  const rows = await sql<{ n: number; list: string; digest: string; hasMore: boolean }[]>`
    select q.n::int4 as n, found.list, latest.digest, found.has_more
    from unnest(${users}::uuid[], ${starts}::uuid[], ${ends}::uuid[], ${limits}::bigint[], ${bound}::text[],
      ${digests}::text[]) with ordinality q(user_id, start_id, end_id, max, bound, digest, n)
    cross join lateral (
      select coalesce(string_agg(concat_ws(' ', mine.id, mine.version), ',' order by mine.id) filter (where n <= q.max), '')
        as list, count(*) > q.max as has_more
      from (select one.*, row_number() over (order by id) as n from (${projectsOf(sql)}) one) mine) found
    cross join lateral (select encode(sha256(found.list::bytea), 'hex') as digest) latest
    where found.has_more or latest.digest <> q.digest`
  for (const { n, list, digest, hasMore } of rows) {
    const texts = list ? list.split(',').map((one) => one.split(' ')) : []
    const versions = texts.map(([projectId = '', version]): [string, number] => [projectId, Number(version)])
    pages[n - 1]!.replace(new Map(versions), digest, hasMore)
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
