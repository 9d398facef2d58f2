import { createHash } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import { batched } from '../postgres/batch.ts'
import type { Sql, SqlPart } from '../postgres/database.ts'
import { type Pair, visibleVersions } from '../reads/visible.ts'
import { MultiMap } from './subscription.ts'
import type { ProjectVersion } from './notifications.ts'
import { type ProjectsSubscription, moreKey, maxListedProjects, VisibleProjects } from './visible-projects.ts'

const maxPairs = 1_000
const maxUsers = 50
const refreshEveryMs = 100

/**
 * One statement reads a version together with the right to see the project. Reads run one after another, so that no
 * result is older than the previous result.
 */
export class VisibleProjectsByUser {
  private readonly byUser = new Map<string, VisibleProjects>()
  private readonly viewers = new MultiMap<VisibleProjects>()
  private readonly outdated = new Map<string, Pair>()
  private readonly refreshSoon: (projects: VisibleProjects) => Promise<VisibleProjects>
  private last: Promise<unknown> = Promise.resolve()
  private isRefreshing = false

  constructor(private readonly sql: Sql) {
    this.refreshSoon = batched({ keys: maxUsers, slots: 1 }, async (users) => {
      await this.inSequence(() => refreshUsers(sql, users))
      return users
    })
  }

  async subscribe(userId: string, signal: AbortSignal): Promise<ProjectsSubscription> {
    const projects = this.byUser.get(userId) ?? new VisibleProjects(userId, this.viewers)
    this.byUser.set(userId, projects)
    const stream = projects.subscribe(() => {
      this.byUser.delete(userId)
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

  onNotification({ projectId, version, newMembers = [] }: ProjectVersion): void {
    const markOutdated = (userId: string) =>
      void this.outdated.set(projectId + userId, { id: projectId, userId })
    for (const { userId, versions } of this.viewers.of(projectId))
      if (versions.get(projectId)! < version) markOutdated(userId)
    for (const userId of newMembers) if (this.byUser.has(userId)) markOutdated(userId)
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
        pairs.forEach(({ id, userId }, n) => this.byUser.get(userId)?.update(id, versions[n]))
      }).catch(() => {}) // the next `refreshAll` reads these projects again
      await rest
    }
    this.isRefreshing = false
  }

  async refreshAll(): Promise<void> {
    const all = [...this.byUser.values()]
    for (let i = 0; i < all.length; i += maxUsers)
      await this.inSequence(() => refreshUsers(this.sql, all.slice(i, i + maxUsers)))
  }

  wakeAll(): void {
    for (const projects of this.byUser.values()) projects.wakeAll()
  }

  private inSequence<T>(read: () => Promise<T>): Promise<T> {
    const done = this.last.then(read)
    this.last = done.catch(() => {})
    return done
  }
}

/** Reads all visible projects of several users in one query. Postgres sends no row for a user without changes. */
async function refreshUsers(sql: Sql, users: VisibleProjects[]): Promise<void> {
  const digests = users.map(({ asText }) => createHash('sha256').update(asText).digest('hex'))
  const rows = await sql<{ n: number; list: string | null }[]>`
    select q.n::int4 as n, found.list
    from unnest(${users.map(({ userId }) => userId)}::uuid[], ${digests}::text[]) with ordinality q(user_id, digest, n)
    cross join lateral (
      select string_agg(concat_ws(' ', mine.id, mine.version), ',' order by mine.id) filter (where n <= ${maxListedProjects})
        || case when count(*) > ${maxListedProjects} then ${`,${moreKey} 1`} else '' end as list
      from (select one.*, row_number() over (order by id) as n
        from (${projectsOf(sql, sql`q.user_id`)}) one) mine) found
    where encode(sha256(coalesce(found.list, '')::bytea), 'hex') <> q.digest`
  for (const { n, list } of rows) {
    const seen = list?.split(',').map((one) => one.split(' ')) ?? []
    users[n - 1]!.replaceAll(seen.map(([projectId = '', version]) => [projectId, Number(version)]))
  }
}

/** SQL for the projects that a user owns or is a member of, in the order of ids, at most one more than the limit. */
const projectsOf = (sql: Sql, user: SqlPart) => sql`
  (select p.id, s.version from projects p join streams s on s.project_id = p.id
    where p.owner_id = ${user} order by p.id, p.created_at limit ${maxListedProjects + 1})
  union all
  (select p.id, s.version from members m join projects p on p.id = m.project_id
    join streams s on s.project_id = m.project_id
    where m.user_id = ${user} order by m.project_id, m.created_at limit ${maxListedProjects + 1})
  order by id limit ${maxListedProjects + 1}`
