import { batched } from '../postgres/batch.ts'
import type { Sql } from '../postgres/database.ts'
import { byOrdinal } from '../postgres/in-order.ts'
import type { Log } from '../log.ts'
import { repeatedly } from '../repeatedly.ts'
import { badToken } from '../wire/refusals.ts'
import { digestOfToken, isApiToken } from './api-tokens.ts'
import { type Caller, highest, type Scope } from './rights.ts'
import { believe, notYetSeen, type Seen } from './validity.ts'

/** How often one process says that a token is used, at most. */
const toldEveryMs = 60_000

/** An API token that may be one of ours; whose it is, is known once it was looked at. */
export interface TokenSession extends Seen {
  digest: string
  toldAt: number
}

/** Knows whose API tokens are, and whether they still hold. `onUse` is told of those in use. */
export function openTokenSessions(sql: Sql, onUse: (tokenId: string) => void) {
  const look = openLook(sql)
  return {
    /** @throws Refusal 401 for what was never made here: nobody is asked. */
    begin(token: string): TokenSession {
      if (!isApiToken(token)) throw badToken()
      return { digest: digestOfToken(token), caller: nobody, toldAt: -Infinity, ...notYetSeen }
    },

    /** @throws Refusal 401 for a token that is not, or no longer, anybody's, or has expired. */
    async require(session: TokenSession): Promise<void> {
      const now = performance.now()
      const found = await look(session.digest)
      if (!found || !(found.leftMs > 0)) throw badToken()
      if (session.caller === nobody) session.caller = callerOf(found)
      believe(session, now, found.leftMs)
      if (now < session.toldAt + toldEveryMs) return
      session.toldAt = now
      onUse(found.id)
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

/** Looks for tokens in the database, many in one query; undefined for one that does not hold. */
const openLook = (sql: Sql) =>
  batched({ keys: 500, slots: 2 }, async (digests: string[]) => {
    const rows = await sql<Found[]>`
      select q.n::int4 as n, t.id, t.user_id, t.scopes, t.projects, u.project_id as serves,
        extract(epoch from t.expires_at - now())::float8 * 1000 as left_ms
      from unnest(${digests}::text[]) with ordinality q(digest, n)
      join api_tokens t on t.digest = q.digest
      join users u on u.id = t.user_id and u.token_version = t.version
      where u.project_id is null or exists (select from projects p
        join members m on m.project_id = p.id and m.user_id = u.id where p.id = u.project_id)`
    return byOrdinal(digests.length, rows)
  })

/** How often uses are written down. */
const useEveryMs = 1_000
/** Tokens in one statement, at most. */
const maxUses = 1_000

/** Writes down when tokens were last used, to the minute and after their requests, many in one statement. */
export function openTokenUse(sql: Sql, log: Log) {
  const used = new Set<string>()

  async function write(): Promise<void> {
    const ids = [...used].slice(0, maxUses)
    if (ids.length === 0) return
    await sql`
      update api_tokens set last_used_at = now() where id = any(${ids}::uuid[])
      and (last_used_at is null or last_used_at < now() - interval '1 minute')`
    for (const id of ids) used.delete(id)
  }

  const stop = repeatedly(write, useEveryMs, log)
  return {
    note: (tokenId: string): void => void used.add(tokenId),
    close: (): Promise<void> =>
      stop()
        .then(write)
        .catch(() => {}), // the last minute may be lost
  }
}
