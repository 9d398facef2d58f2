import type { IncomingMessage } from 'node:http'

/** What is kept of an answer's body. */
export const answerBytes = 1_024

/** What became of a request: the status it was answered with, or why there was no answer. */
export interface Outcome {
  status: number | null
  error: string | null
  /** The beginning of the answer's body. */
  answer: string
  /** What Retry-After says. */
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
