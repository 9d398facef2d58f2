import type { IncomingMessage } from 'node:http'

export const maxAnswerBytes = 1_024

export interface PostResult {
  status: number | null
  error: string | null
  answer: string
  retryAfterMs: number | null
  durationMs: number
}

export type ResponseSummary = Omit<PostResult, 'durationMs'>

export const summarize = ({ statusCode, headers }: IncomingMessage, body: Buffer): ResponseSummary => ({
  status: statusCode ?? null,
  error: null,
  answer: new TextDecoder().decode(body.subarray(0, maxAnswerBytes)).replaceAll('\0', '\ufffd'),
  retryAfterMs: retryAfter(headers['retry-after']),
})

/** Parses seconds or a date (RFC 9110, section 10.2.3). */
export function retryAfter(header: string | undefined, now = Date.now()): number | null {
  if (!header) return null
  const ms = /^\d{1,9}$/.test(header.trim()) ? Number(header) * 1000 : Date.parse(header) - now
  return ms > 0 ? ms : null
}
