import { batched } from '../postgres/batch.ts'
import type { Sql } from '../postgres/database.ts'
import { byOrdinal } from '../postgres/row-order.ts'
import { invalidToken } from '../responses/errors.ts'
import { digestOfToken, isApiToken } from './api-tokens.ts'
import { type Caller, highest, type Scope } from './rights.ts'
import { notYetSeen, type Seen, type Validity } from './validity.ts'

/** How often one process notes that a token is used, at most. */
const notedEveryMs = 60_000

/** An API token of the right form; its caller is known once it was read. */
export interface TokenSession extends Seen {
  digest: string
  notedAt: number
}

/** Reads API tokens. `onUse` is called with the id of each token that is used. */
export function openTokenSessions(sql: Sql, onUse: (tokenId: string) => void) {
  const find = openFind(sql)
  return {
    /** @throws HttpError 401 for a token that was never made here, without a query */
    begin(token: string): TokenSession {
      if (!isApiToken(token)) throw invalidToken()
      return { digest: digestOfToken(token), caller: nobody, notedAt: -Infinity, ...notYetSeen }
    },

    async read(session: TokenSession): Promise<Validity> {
      const now = performance.now()
      const found = await find(session.digest)
      if (!found) return { isHeld: false, leftMs: 0 }
      if (session.caller === nobody) session.caller = callerOf(found)
      if (now >= session.notedAt + notedEveryMs) {
        session.notedAt = now
        onUse(found.id)
      }
      return { isHeld: true, leftMs: found.leftMs }
    },
  }
}

const nobody: Caller = { userId: '' }

interface Found {
  n: number
  id: string
  userId: string
  scopes: string
  projects: string | null
  /** The project of a service account. */
  serves: string | null
  leftMs: number
}

function callerOf({ id, userId, scopes, projects, serves }: Found): Caller {
  const scope = highest(scopes.split(' ') as Scope[])
  const some = projects?.split(' ') ?? null
  if (!serves) return { userId, token: { id, scope, projects: some } }
  const own = some?.includes(serves) === false ? [] : [serves]
  return { userId, token: { id, scope, projects: own, isService: true } }
}

/** Finds tokens that hold, many in one query. */
const openFind = (sql: Sql) =>
  batched({ keys: 500, slots: 2 }, async (digests: string[]) => {
    const rows = await sql<Found[]>`
      select q.n::int4 as n, t.id, t.user_id, t.scopes, t.projects, u.project_id as serves,
        extract(epoch from t.expires_at - now())::float8 * 1000 as left_ms
      from unnest(${digests}::text[]) with ordinality q(digest, n)
      join api_tokens t on t.digest = q.digest and t.expires_at > now()
      join users u on u.id = t.user_id and u.token_version = t.version
      where u.project_id is null or exists (select from projects p
        join members m on m.project_id = p.id and m.user_id = u.id where p.id = u.project_id)`
    return byOrdinal(digests.length, rows)
  })

/** How often the uses of tokens are written, and of how many tokens in one statement, at most. */
const writtenEveryMs = 1_000
const maxWritten = 1_000

/** Writes when tokens were last used, to the minute and after their requests. The last second of a process may be lost. */
export function openNoteUse(sql: Sql): (tokenId: string) => void {
  const schedule = (write: () => void) => setTimeout(write, writtenEveryMs).unref()
  const note = batched(
    { keys: maxWritten, slots: 1, rejectsOverload: false, schedule },
    async (ids: string[]) => {
      await sql`
      update api_tokens set last_used_at = now() where id = any(${ids}::uuid[])
      and (last_used_at is null or last_used_at < now() - interval '1 minute')`
      return ids
    },
  )
  return (tokenId) => void note(tokenId).catch(() => {})
}
