import type { IncomingMessage } from 'node:http'

export const answerBytes = 1_024

export interface Outcome {
  status: number | null
  /** Why there was no answer. */
  error: string | null
  /** The beginning of the body. */
  answer: string
  retryAfterMs: number | null
  durationMs: number
}

export type Told = Omit<Outcome, 'durationMs'>

export const toldBy = ({ statusCode, headers }: IncomingMessage, body: Buffer): Told => ({
  status: statusCode ?? null,
  error: null,
  answer: new TextDecoder().decode(body.subarray(0, answerBytes)).replaceAll('\0', '\ufffd'),
  retryAfterMs: retryAfter(headers['retry-after']),
})

export const untold = (error: string): Told => ({ status: null, error, answer: '', retryAfterMs: null })

/** Seconds or a date (RFC 9110, 10.2.3). */
export function retryAfter(said: string | undefined, now = Date.now()): number | null {
  if (!said) return null
  const ms = /^\d{1,9}$/.test(said.trim()) ? Number(said) * 1000 : Date.parse(said) - now
  return ms > 0 ? ms : null
}
