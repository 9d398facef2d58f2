import { reasons } from '../../src/responses/errors.ts'

interface Answer {
  status: number
  text: string
  headers: Headers
}

/** What is wrong with an answer, if it is none that the contract knows; nothing for an answer that never came. */
export function flawOf(
  method: string,
  { status, text, headers }: Answer,
  success = method === 'POST' ? 201 : 200,
): string | undefined {
  if (status === 0) return undefined
  if (status >= 200 && status < 300) return flawOfSuccess(success, status, text)
  if (!(status in reasons) || status === 500) return `answered ${status} ${text.slice(0, 200)}`
  const { statusCode, message, error, ...rest } = read(text)
  const inShape = statusCode === status && typeof message === 'string' && typeof error === 'string'
  if (!inShape || Object.keys(rest).length > 0) return `answered ${status} in the shape ${text.slice(0, 200)}`
  if (status === 503 && !/^\d+$/.test(headers.get('retry-after') ?? ''))
    return 'answered 503 without Retry-After'
  return undefined
}

function flawOfSuccess(success: number, status: number, text: string): string | undefined {
  if (status !== success) return `answered ${status}`
  return text.startsWith('{') || text.startsWith('[') ? undefined : `answered ${status} ${text.slice(0, 200)}`
}

function read(text: string): Record<string, unknown> {
  try {
    return JSON.parse(text) as Record<string, unknown>
  } catch {
    return {}
  }
}
