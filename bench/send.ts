import type { PlannedRequest } from './plan.ts'

/** Sends one planned request on a kept-alive connection, and reads the whole response. */
export async function send(
  url: string,
  { method, path, token, body, etag }: PlannedRequest,
): Promise<Response> {
  const headers = {
    authorization: `Bearer ${token}`,
    ...(etag && { 'if-none-match': etag }),
    ...(body && { 'content-type': 'application/json' }),
  }
  const answer = await fetch(`${url}/api/v1${path}`, { method, headers, body: body && JSON.stringify(body) })
  await answer.arrayBuffer()
  return answer
}
