import { errorOf, type Sent } from './errors/advice.ts'
import type { ApiResponse, Call } from './tool.ts'

export interface Write {
  path: string
  body?: unknown
  /** What a retry with the same key must repeat. By default the body. */
  content?: unknown
  /** The Idempotency-Key: a retry with the same key gets the first response. */
  key?: string
  headers?: Record<string, string>
}

/** Sends a POST. @throws ToolError with the status of the response */
export async function write<T>(
  call: Call,
  { path, body, content, key, headers }: Write,
  sent: Sent,
): Promise<ApiResponse<T>> {
  const keyed = key !== undefined && { 'idempotency-key': quoted(key) }
  const answer = await call.request<T>('POST', path, { body, content, headers: { ...headers, ...keyed } })
  if (answer.status >= 400) throw errorOf(answer, sent)
  return answer
}

/** Quotes a key, because headers lose spaces at their ends. */
const quoted = (key: string): string => `"${key.replace(/["\\]/g, '\\$&')}"`

export const isReplayed = ({ headers }: ApiResponse): { replayed?: true } =>
  headers.get('idempotency-replayed') === 'true' ? { replayed: true } : {}
