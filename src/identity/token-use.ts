import type { Log } from '../log.ts'
import type { Sql } from '../postgres/database.ts'
import { repeatedly } from '../repeatedly.ts'

const everyMs = 1_000
/** Tokens in one statement, at most. */
const most = 1_000

/** Writes down when tokens were last used, to the minute and after their requests, many in one statement. */
export function openTokenUse(sql: Sql, log: Log) {
  const used = new Set<string>()

  async function write(): Promise<void> {
    const ids = [...used].slice(0, most)
    if (ids.length === 0) return
    await sql`
      update api_tokens set last_used_at = now() where id = any(${ids}::uuid[])
      and (last_used_at is null or last_used_at < now() - interval '1 minute')`
    for (const id of ids) used.delete(id)
  }

  const stop = repeatedly(write, everyMs, log)
  return {
    note: (tokenId: string): void => void used.add(tokenId),
    close: (): Promise<void> =>
      stop()
        .then(write)
        .catch(() => {}), // the last minute may be lost
  }
}
