import { Elysia } from 'elysia'
import { migrationCount } from '../../drizzle/migrate.ts'
import { json } from '../core/wire.ts'
import type { Services } from '../services.ts'

const patienceMs = 2_000

/** For whoever watches the process: alive, and ready to serve. */
export function health({ database, redisStatus }: Services) {
  const expected = migrationCount()

  async function isMigrated(): Promise<boolean> {
    const applied = database.reads<
      { n: number }[]
    >`select count(*)::int4 as n from drizzle.__drizzle_migrations`
    const late = new Promise<never>((_, reject) =>
      setTimeout(reject, patienceMs, new Error('late')).unref?.(),
    )
    const [row] = await Promise.race([applied, late])
    return (row?.n ?? 0) >= expected
  }

  return new Elysia({ prefix: '/health', detail: { hide: true } })
    .onAfterHandle(
      ({ response }) => void (response as Response).headers.set('x-content-type-options', 'nosniff'),
    )
    .get('/live', () => json({ status: 'ok' }))
    .get('/ready', async () => {
      const redis = redisStatus() === 'ready' ? 'ok' : 'away'
      const postgres = await isMigrated().then(
        (migrated) => (migrated ? 'ok' : 'not migrated'),
        () => 'away',
      )
      const ready = postgres === 'ok'
      // Without Redis everything works, only slower: it is reported and changes nothing.
      return json({ status: ready ? 'ok' : 'unready', postgres, redis }, ready ? 200 : 503)
    })
}
