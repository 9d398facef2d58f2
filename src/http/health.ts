import { Elysia } from 'elysia'
import { countApplied } from '../../drizzle/apply.ts'
import { knownMigrations } from '../../drizzle/migrate.ts'
import { json } from '../wire/answers.ts'
import { within } from '../within.ts'
import type { Database } from '../postgres/database.ts'

const patienceMs = 2_000

interface Watched {
  database: Database
  redisStatus(): string
  isDraining(): boolean
}

/** For whoever watches the process: alive, and ready to serve. */
export function health({ database, redisStatus, isDraining }: Watched) {
  const expected = knownMigrations().length

  async function stateOfPostgres(): Promise<string> {
    const applied = await within(patienceMs, countApplied(database.reads)).catch(() => undefined)
    return applied === undefined ? 'away' : applied < expected ? 'not migrated' : 'ok'
  }

  async function readiness(): Promise<Response> {
    const redis = redisStatus() === 'ready' ? 'ok' : 'away'
    const postgres = await stateOfPostgres()
    const ready = postgres === 'ok' && !isDraining()
    const status = isDraining() ? 'draining' : ready ? 'ok' : 'unready'
    // Without Redis everything works, only slower: it is reported and changes nothing.
    return json({ status, postgres, redis }, ready ? 200 : 503)
  }

  return new Elysia({ prefix: '/health', detail: { hide: true } })
    .get('/live', () => json({ status: 'ok' }))
    .get('/ready', readiness)
    .get('/', readiness)
}
