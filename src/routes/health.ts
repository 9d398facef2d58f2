import { Elysia } from 'elysia'
import { countApplied, knownMigrations } from '../../drizzle/migrate.ts'
import { json } from '../responses/reply.ts'
import { commonResponse } from '../openapi/components.ts'
import { within } from '../waits.ts'
import { requireShortUrl } from './guards.ts'
import type { Services } from '../services.ts'

const timeoutMs = 2_000

export function health({ database, standbys, redisStatus, homeProblem, isDraining }: Services) {
  const expected = knownMigrations().length

  async function readiness(): Promise<Response> {
    const applied = await within(timeoutMs, countApplied(database.reads)).catch(() => undefined)
    const postgres = applied === undefined ? 'away' : applied < expected ? 'not migrated' : 'ok'
    const problem = homeProblem()
    const status = isDraining() ? 'draining' : postgres === 'ok' && !problem ? 'ok' : 'unready'
    // Without Redis the service works, only slower, so the state of Redis does not change the status.
    const redis = redisStatus() === 'ready' ? 'ok' : 'away'
    const others = {
      ...(standbys && { standbys: standbys.all.map(({ state }) => state) }),
      ...(problem && { problem }),
    }
    return json({ status, postgres, redis, ...others }, status === 'ok' ? 200 : 503)
  }

  return new Elysia({ prefix: '/health' })
    .onTransform(({ request }) => requireShortUrl(request))
    .get('/live', () => json({ status: 'ok' }), liveness)
    .get('/ready', readiness, readinessCheck)
    .get('/', readiness, { detail: { hide: true } })
}

const answer = (description: string, example: object) => ({
  description,
  content: { 'application/json': { schema: { type: 'object' as const }, example } },
})
const common = { tags: ['Health'], security: [] }
const tooLong = { 414: commonResponse(414) }

const liveness = {
  detail: {
    ...{ operationId: 'readLiveness', summary: 'Check that the process runs', ...common },
    description: 'Returns 200 while the process handles requests, even if Postgres or Redis fails.',
    responses: { 200: answer('The process runs', { status: 'ok' }), ...tooLong },
  },
}

const readinessCheck = {
  detail: {
    ...{ operationId: 'readReadiness', summary: 'Check that the service is ready', ...common },
    description:
      'Checks that Postgres responds and has all migrations of this release, and that the other processes can reach this process: `problem` says which setting prevents this. Without Redis the service is ready, only slower. `standbys` has the state of each server in DATABASE_STANDBY_URLS: ok, behind or away; reads then use the primary.',
    responses: {
      200: answer('Ready', { status: 'ok', postgres: 'ok', redis: 'ok' }),
      503: answer('Not ready, or shutting down', { status: 'unready', postgres: 'away', redis: 'ok' }),
      ...tooLong,
    },
  },
}
