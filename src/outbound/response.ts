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

const maxTargetCharacters = 300
const isRedirect = (status = 0): boolean => status >= 300 && status < 400 && status !== 304

function redirectError({ statusCode, headers }: IncomingMessage): string {
  const target = (headers.location ?? '').replace(/[^ -~]/g, '').slice(0, maxTargetCharacters)
  const advice = target ? `: set the URL to ${target} if you trust it` : ''
  return `The receiver answered ${statusCode}, and redirects are not followed${advice}`
}

export const summarize = (response: IncomingMessage, body: Buffer): ResponseSummary => ({
  status: response.statusCode ?? null,
  error: isRedirect(response.statusCode) ? redirectError(response) : null,
  answer: new TextDecoder().decode(body.subarray(0, maxAnswerBytes)).replaceAll('\0', '\ufffd'),
  retryAfterMs: retryAfter(response.headers['retry-after']),
})

/** Parses seconds or a date (RFC 9110, section 10.2.3). */
export function retryAfter(header: string | undefined, now = Date.now()): number | null {
  if (!header) return null
  const ms = /^\d{1,9}$/.test(header.trim()) ? Number(header) * 1000 : Date.parse(header) - now
  return ms > 0 ? ms : null
}
