import type { Sent } from './errors/advice.ts'
import { successful } from './read.ts'
import type { ApiResponse, Call, RequestOptions } from './tool.ts'

export interface Write extends RequestOptions {
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
