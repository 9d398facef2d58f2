import { LRUCache } from 'lru-cache'
import type { StoredEvent } from '../../src/model/events.ts'
import type { Authenticate } from '../../src/identity/sessions.ts'
import { believe, notYetSeen, type Seen } from '../../src/identity/validity.ts'
import type { Sql } from '../../src/postgres/database.ts'
import type { User } from '../accounts/user.ts'
import { type People, peopleIn } from './views.ts'

const namedIn = (events: StoredEvent[]) => [...new Set(events.flatMap(peopleIn))]

/** Events with the accounts that they name, as they are called now. */
export async function withPeople<E extends StoredEvent>(sql: Sql, events: E[]) {
  const people = await accountsOf(sql, namedIn(events))
  return events.map((event): E & { people: People } => ({ ...event, people }))
}

/** Accounts by their ids, without those that are deleted. */
async function accountsOf(sql: Sql, ids: string[]): Promise<People> {
  if (ids.length === 0) return new Map()
  const users = await sql<User[]>`select id, name, email from users where id = any(${ids}::uuid[])`
  return new Map(users.map((user) => [user.id, user]))
}

/** An account as it was read; `user` is undefined if it was deleted. */
interface Known extends Seen {
  user: User | undefined
}

/**
 * The same for streams: an account is reused as long as its token would be, and until it is changed in this process. To
 * read it at each commit would cost as much as all else that a stream does.
 */
export function openPeople(sql: Sql, { isBelieved }: Pick<Authenticate, 'isBelieved'>) {
  const known = new LRUCache<string, Known>({ max: 10_000 })
  const isFresh = (one: Known | undefined) => one !== undefined && isBelieved(one)
  return async (events: StoredEvent[]): Promise<People> => {
    const ids = namedIn(events)
    const unknown = ids.filter((id) => !isFresh(known.get(id)))
    const now = performance.now()
    const users = await accountsOf(sql, unknown)
    for (const userId of unknown) {
      const one = { caller: { userId }, ...notYetSeen, user: users.get(userId) }
      believe(one, now, Infinity)
      known.set(userId, one)
    }
    const found = ids.map((id) => users.get(id) ?? known.get(id)?.user)
    return new Map(found.flatMap((user) => (user ? [[user.id, user]] : [])))
  }
}
