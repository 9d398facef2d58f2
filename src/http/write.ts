import { createHash } from 'node:crypto'
import { type FindKept, type Guard, replay } from '../commit/idempotency.ts'
import type { Reply } from '../wire/reply.ts'
import { badKey, Refusal } from '../wire/refusals.ts'
import { requestId } from '../wire/request-id.ts'
import { parsedPath, typed, untyped } from '../wire/answers.ts'

/** What the headers of a write ask of its command. */
export interface Conditions {
  ifMatch?: string
  guard?: Guard
}

export type Write = (
  request: Request,
  scope: string,
  body: unknown,
  work: (conditions: Conditions) => Promise<Reply>,
  madeAt?: MadeAt,
) => Promise<Response>

/** The path below /api/v1 of what was made, for Location: where it is read, or at least changed and removed. */
export type MadeAt = (id: string) => string

/** How a repeat may be rejected because the first request took its own rights, its target or its id. */
const mayBeRepeat = new Set([403, 404, 409])

/**
 * Runs a write under its headers. The actor sees to it that a key's work is done once; looking first (and again when
 * there is nothing to work on) finds the answer also after the very thing was deleted.
 */
export function openWrite(findKept: FindKept): Write {
  return async (request, scope, body, work, madeAt) => {
    const guard = readGuard(request, scope, body)
    const conditions = { ifMatch: request.headers.get('if-match') ?? undefined, guard }
    if (!guard) return send(await work(conditions), madeAt)
    const kept = await findKept(guard)
    if (kept) return send(replay(kept, guard), madeAt)
    try {
      return send(await work(conditions), madeAt)
    } catch (error) {
      if (!(error instanceof Refusal) || !mayBeRepeat.has(error.status)) throw error
      const done = await findKept(guard)
      if (!done) throw error
      return send(replay(done, guard), madeAt)
    }
  }
}

/**
 * Reads `Idempotency-Key`, a quoted string or bare; undefined without one.
 * @throws Refusal 400
 */
export function readGuard(request: Request, scope: string, body: unknown): Guard | undefined {
  const header = request.headers.get('idempotency-key')
  if (header === null) return undefined
  const key = /^"(.*)"$/.exec(header.trim())?.[1]?.replace(/\\(["\\])/g, '$1') ?? header.trim()
  if (!/^[\x20-\x7e]{1,255}$/.test(key)) {
    throw badKey()
  }
  const { pathname, search } = parsedPath(request)
  const said = `${request.method} ${pathname}${search}\n${JSON.stringify(body ?? null)}`
  return { scope, key, fingerprint: createHash('sha256').update(said).digest('base64url') }
}

/** Every view begins with its id. */
const idIn = (body: string): string => body.slice(idAt, body.indexOf('"', idAt))
const idAt = '{"id":"'.length

/** The project's version, with which the answers begin that are about many changes in it. */
const versionIn = (body: string): string | undefined =>
  body.startsWith('{"version":') ? /^\d+/.exec(body.slice(versionAt))?.[0] : undefined
const versionAt = '{"version":'.length

export function send(
  { status, body, etag, replayed }: Reply & { replayed?: true },
  madeAt?: MadeAt,
): Response {
  const headers: Record<string, string> = {
    ...(status === 204 ? untyped : typed),
    'x-request-id': requestId(),
  }
  if (etag) headers.etag = etag
  if (madeAt && status === 201) headers.location = `/api/v1${madeAt(idIn(body))}`
  const version = versionIn(body)
  if (version) headers['docket-version'] = version
  if (replayed) headers['idempotency-replayed'] = 'true'
  return new Response(status === 204 ? null : body, { status, headers })
}
