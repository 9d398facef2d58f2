import { createHash } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import { batched } from '../postgres/batch.ts'
import type { Sql, SqlPart } from '../postgres/database.ts'
import { type Pair, visibleVersions } from '../reads/visible.ts'
import { Groups } from './following.ts'
import type { Moved } from './hints.ts'
import { type Listener, moreMark, mostTold, Standing } from './standing.ts'

/** Pairs of a user and a project, and users, that are read in one query, at most. */
const mostPairs = 1_000
const mostPeople = 50
/** How often projects are read of which hints came. */
const lookEveryMs = 100

/**
 * What listening users may see, updated by hints, and by reading all of it now and then. A version and the right to see it
 * are always read in one moment, and one read comes after the other, so none is older than the one before.
 */
export class Standings {
  private readonly byUser = new Map<string, Standing>()
  private readonly seenBy = new Groups<Standing>()
  private readonly inDoubt = new Map<string, Pair>()
  private readonly lookSoon: (standing: Standing) => Promise<Standing>
  private last: Promise<unknown> = Promise.resolve()
  private isLooking = false

  constructor(private readonly sql: Sql) {
    this.lookSoon = batched({ keys: mostPeople, slots: 1 }, async (standings) => {
      await this.inTurn(() => lookAtStandings(sql, standings))
      return standings
    })
  }

  /** Listens until the signal comes: all that the user may see right now is new to the listener. */
  async join(userId: string, signal: AbortSignal): Promise<Listener> {
    const standing = this.byUser.get(userId) ?? new Standing(userId, this.seenBy)
    this.byUser.set(userId, standing)
    const listener = standing.join(() => {
      this.byUser.delete(userId)
      standing.end()
    })
    const { end } = listener.following
    await this.lookSoon(standing).catch((error: unknown) => {
      end()
      throw error
    })
    if (signal.aborted) end()
    else signal.addEventListener('abort', end, { once: true })
    return listener
  }

  /** Reads a project that moved again, for the users here who see it or may see it now. */
  hear({ projectId, version, comers = [] }: Moved): void {
    const doubt = (userId: string) => void this.inDoubt.set(projectId + userId, { id: projectId, userId })
    for (const { userId, versions } of this.seenBy.of(projectId))
      if (versions.get(projectId)! < version) doubt(userId)
    for (const userId of comers) if (this.byUser.has(userId)) doubt(userId)
    if (this.inDoubt.size > 0 && !this.isLooking) void this.lookAtDoubts()
  }

  private async lookAtDoubts(): Promise<void> {
    this.isLooking = true
    while (this.inDoubt.size > 0) {
      const rest = sleep(lookEveryMs)
      const pairs = [...this.inDoubt.values()].slice(0, mostPairs)
      for (const { id, userId } of pairs) this.inDoubt.delete(id + userId)
      await this.inTurn(async () => {
        const versions = await visibleVersions(this.sql, pairs)
        pairs.forEach(({ id, userId }, n) => this.byUser.get(userId)?.see(id, versions[n]))
      }).catch(() => {}) // the next look at all finds it
      await rest
    }
    this.isLooking = false
  }

  async lookAtAll(): Promise<void> {
    const all = [...this.byUser.values()]
    for (let i = 0; i < all.length; i += mostPeople)
      await this.inTurn(() => lookAtStandings(this.sql, all.slice(i, i + mostPeople)))
  }

  wakeAll(): void {
    for (const standing of this.byUser.values()) standing.wakeAll()
  }

  private inTurn<T>(look: () => Promise<T>): Promise<T> {
    const done = this.last.then(look)
    this.last = done.catch(() => {})
    return done
  }
}

/** Reads all projects of so many users in one query; of users for whom nothing is new it returns no rows. */
async function lookAtStandings(sql: Sql, standings: Standing[]): Promise<void> {
  const digests = standings.map(({ list }) => createHash('sha256').update(list).digest('hex'))
  const rows = await sql<{ n: number; list: string | null }[]>`
    select q.n::int4 as n, found.list
    from unnest(${standings.map(({ userId }) => userId)}::uuid[], ${digests}::text[]) with ordinality q(user_id, digest, n)
    cross join lateral (
      select string_agg(concat_ws(' ', mine.id, mine.version), ',' order by mine.id) filter (where n <= ${mostTold})
        || case when count(*) > ${mostTold} then ${`,${moreMark} 1`} else '' end as list
      from (select one.*, row_number() over (order by id) as n
        from (${projectsOf(sql, sql`q.user_id`)}) one) mine) found
    where encode(sha256(coalesce(found.list, '')::bytea), 'hex') <> q.digest`
  for (const { n, list } of rows) {
    const seen = list?.split(',').map((one) => one.split(' ')) ?? []
    standings[n - 1]!.seeAll(seen.map(([projectId = '', version]) => [projectId, Number(version)]))
  }
}

/** The first of the projects that a user owns or is a member of, and one that shows that there are more. */
const projectsOf = (sql: Sql, user: SqlPart) => sql`
  (select p.id, s.version from projects p join streams s on s.project_id = p.id
    where p.owner_id = ${user} order by p.id, p.created_at limit ${mostTold + 1})
  union all
  (select p.id, s.version from members m join projects p on p.id = m.project_id
    join streams s on s.project_id = m.project_id
    where m.user_id = ${user} order by m.project_id, m.created_at limit ${mostTold + 1})
  order by id limit ${mostTold + 1}`
