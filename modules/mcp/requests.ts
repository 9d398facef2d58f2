import type { ApiResponse, Call, RequestOptions, Sent } from './tool.ts'
import { errorOf } from './advice.ts'

/** Returns the response to a GET. @throws ToolError with the status of the response */
export const read = async <T>(call: Call, path: string): Promise<ApiResponse<T>> =>
  successful(await call.request<T>('GET', path))

/** @throws ToolError if the status of the response is 400 or higher */
export function successful<T>(answer: ApiResponse<T>, sent?: Sent): ApiResponse<T> {
  if (answer.status >= 400) throw errorOf(answer, sent)
  return answer
}

/** Returns `path`, which may have a query, with the parameters that have a value and are not false. */
export function withQuery(path: string, parameters: object): string {
  const given = Object.entries(parameters).filter(([, value]) => value !== undefined && value !== false)
  const query = new URLSearchParams(given.map(([name, value]) => [name, String(value)])).toString()
  return query ? `${path}${path.includes('?') ? '&' : '?'}${query}` : path
}

/** Returns the cursor of the next page, or the seq of a page of events; undefined on the last page. */
export const cursorOf = ({ headers }: ApiResponse): string | undefined =>
  /[?&](?:cursor|after)=([^&>]*)[^>]*>; rel="next"/.exec(headers.get('link') ?? '')?.[1]

interface Write extends RequestOptions {
  path: string
  /** The Idempotency-Key: a retry with the same key gets the first response. */
  key?: string
}

/** Sends a POST. @throws ToolError with the status of the response */
export async function write<T>(
  call: Call,
  { path, key, headers, ...options }: Write,
  sent: Sent,
): Promise<ApiResponse<T>> {
  const keyed = key !== undefined && { 'idempotency-key': quoted(key) }
  return successful(
    await call.request<T>('POST', path, { ...options, headers: { ...headers, ...keyed } }),
    sent,
  )
}

/** Quotes a key, because headers lose spaces at their ends. */
const quoted = (key: string): string => `"${key.replace(/["\\]/g, '\\$&')}"`

export const isReplayed = ({ headers }: ApiResponse): { replayed?: true } =>
  headers.get('idempotency-replayed') === 'true' ? { replayed: true } : {}
