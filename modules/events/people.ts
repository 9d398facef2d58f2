import { LRUCache } from 'lru-cache'
import type { StoredEvent } from '../../src/model/events.ts'
import type { Authenticate } from '../../src/identity/sessions.ts'
import { believe, notYetSeen, type Seen } from '../../src/identity/validity.ts'
import type { Sql } from '../../src/postgres/database.ts'
import type { User } from '../accounts/user.ts'
import { accountsOf } from './queries.ts'
import { type People, peopleIn } from './views.ts'

const mostKnown = 10_000

/** An account as it was seen; none where it was gone. */
interface Known extends Seen {
  user: User | undefined
}

/**
 * Those whom events name, as a stream shows them. A look at the database is believed as long as one at their token is, and
 * no longer than until their account is changed here: to ask at every commit would take as much as all else that tells of it.
 */
export function openPeople(sql: Sql, { isBelieved }: Pick<Authenticate, 'isBelieved'>) {
  const known = new LRUCache<string, Known>({ max: mostKnown })

  async function look(ids: string[]): Promise<Known[]> {
    const now = performance.now()
    const users = await accountsOf(sql, ids)
    return ids.map((userId) => {
      const seen = { caller: { userId }, ...notYetSeen, user: users.get(userId) }
      believe(seen, now, Infinity)
      known.set(userId, seen)
      return seen
    })
  }

  return async (events: StoredEvent[]): Promise<People> => {
    const ids = [...new Set(events.flatMap(peopleIn))]
    const all: Known[] = []
    const unknown: string[] = []
    for (const id of ids) {
      const seen = known.get(id)
      if (seen && isBelieved(seen)) all.push(seen)
      else unknown.push(id)
    }
    if (unknown.length > 0) all.push(...(await look(unknown)))
    return new Map(all.flatMap(({ user }) => (user ? [[user.id, user]] : [])))
  }
}
