import { STATUS_CODES } from 'node:http'
import type { Answer, Client } from '../support/client.ts'

const uuid7 = /^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/
const utcMs = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/

export const anId: unknown = expect.stringMatching(uuid7)
export const aTimestamp: unknown = expect.stringMatching(utcMs)
export const unknownId = '0199abcd-0000-7000-8000-00000000cafe'
const notUuids = ['1', 'null', 'me', '%00', '%27%20or%201%3D1']
export const malformedIds = [...notUuids, unknownId.replaceAll('-', ''), `${unknownId}0`]

export function expectError({ status, body, headers }: Answer, wanted: number, message?: string | RegExp) {
  expect(body).toStrictEqual({
    statusCode: wanted,
    message: expect.any(String),
    error: STATUS_CODES[wanted],
  } as never)
  expect(status).toBe(wanted)
  expect(headers.get('content-type')).toStartWith('application/json')
  expect(headers.get('x-request-id')).toMatch(/^[\w-]{8,64}$/)
  if (typeof message === 'string') expect(body.message).toBe(message)
  else if (message) expect(body.message).toMatch(message)
}

export async function statusAndMessage(caller: Client, path: string): Promise<string> {
  const { status, body } = await caller.get(path)
  return `${status} ${body.message}`
}

export function expectResponse({ status, body }: Answer, wanted: number, exactBody: unknown) {
  expect(body).toStrictEqual(exactBody as never)
  expect(status).toBe(wanted)
}

export const remainingBudget = ({ headers }: Answer) =>
  Number(/^"[\w-]+";r=(\d+);t=\d+$/.exec(headers.get('ratelimit')!)?.[1])

/** Returns the parts that are equal in all responses for one idempotency key. */
export const replayedParts = ({ status, text, headers }: Answer) => ({
  ...{ status, text },
  etag: headers.get('etag'),
})

export const isReplay = ({ headers }: Answer) => headers.get('idempotency-replayed') === 'true'

/** Expects the rejection of a request whose budget, such as `reads`, is empty. @param window in seconds */
export function expectLimited(answer: Answer, name: string, quota: number, window: number) {
  expectError(answer, 429, /^Too many requests; try again in \d+ seconds?$/)
  const { headers } = answer
  const wait = Number(headers.get('retry-after'))
  expect(wait).toBeWithin(1, window + 1)
  expect(headers.get('ratelimit-policy')).toBe(`"${name}";q=${quota};w=${window}`)
  expect(headers.get('ratelimit')).toBe(`"${name}";r=0;t=${wait}`)
}
