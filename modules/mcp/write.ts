import { errorOf, type Sent } from './errors/advice.ts'
import type { Answer, Call } from './tool.ts'

export interface Write {
  path: string
  body?: unknown
  /** Default: the body. */
  content?: unknown
  /** Sent as Idempotency-Key: a repeat gets the first answer. */
  key?: string
  headers?: Record<string, string>
}

/** Sends a POST. @throws ToolError that says what to do next */
export async function write<T>(
  call: Call,
  { path, body, content, key, headers }: Write,
  sent: Sent,
): Promise<Answer<T>> {
  const keyed = key !== undefined && { 'idempotency-key': quoted(key) }
  const answer = await call.request<T>('POST', path, { body, content, headers: { ...headers, ...keyed } })
  if (answer.status >= 400) throw errorOf(answer, sent)
  return answer
}

/** In quotes, so that a key may begin or end with a space or a quote. */
const quoted = (key: string): string => `"${key.replace(/["\\]/g, '\\$&')}"`

export const isReplayed = ({ headers }: Answer): { replayed?: true } =>
  headers.get('idempotency-replayed') === 'true' ? { replayed: true } : {}
