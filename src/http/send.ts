import { requestId } from '../wire/request-id.ts'
import type { Reply } from '../wire/reply.ts'
import { typed, untyped } from '../wire/answers.ts'

/** The path below /api/v1 of what was made, for Location: where it is read, or at least changed and removed. */
export type MadeAt = (id: string) => string

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
