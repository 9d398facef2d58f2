import { setTimeout as sleep } from 'node:timers/promises'
import { batched } from '../postgres/batch.ts'
import type { Sql } from '../postgres/database.ts'
import { type Pair, visibleVersions } from '../reads/visible.ts'
import type { Moved } from './hints.ts'
import { lookAtStandings } from './look-at-standings.ts'
import { type Listener, Standing } from './standing.ts'
import { Groups } from './waiting.ts'

/** Projects of users that are looked at in one query, at most. */
const mostPairs = 1_000
/** People whose projects are looked at in one query, at most. */
const mostPeople = 50
/** How often the projects are looked at that hints name: what comes meanwhile goes together. */
const lookEveryMs = 100

/**
 * What those who listen may see, kept up by hints, and by looking at all of it now and then. A version and the right to see
 * it are always looked at in one moment, and one look comes after the other, so none is older than the one before.
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

  /** Has a look at a project that moved, for those here who see it or may see it now. */
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

  /** Looks at all that anybody may see. */
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
