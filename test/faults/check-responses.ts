import { reasons } from '../../src/responses/errors.ts'

interface Response {
  status: number
  text: string
  headers: Headers
}

export function responseError(
  method: string,
  { status, text, headers }: Response,
  success = method === 'POST' ? 201 : 200,
): string | undefined {
  if (status === 0) return undefined
  if (status >= 200 && status < 300) return successError(success, status, text)
  if (!(status in reasons) || status === 500) return `returned ${status} ${text.slice(0, 200)}`
  const { statusCode, message, error, ...rest } = read(text)
  const hasShape = statusCode === status && typeof message === 'string' && typeof error === 'string'
  if (!hasShape || Object.keys(rest).length > 0)
    return `returned ${status} with the body ${text.slice(0, 200)}`
  if (status === 503 && !/^\d+$/.test(headers.get('retry-after') ?? ''))
    return 'returned 503 without Retry-After'
  return undefined
}

function successError(success: number, status: number, text: string): string | undefined {
  if (status !== success) return `returned ${status}`
  return text.startsWith('{') || text.startsWith('[') ? undefined : `returned ${status} ${text.slice(0, 200)}`
}

function read(text: string): Record<string, unknown> {
  try {
    return JSON.parse(text) as Record<string, unknown>
  } catch {
    return {}
  }
}
