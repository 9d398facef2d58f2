import { STATUS_CODES } from 'node:http'
import { expect } from 'bun:test'
import type { Answer, Client } from '../support/client.ts'
import type { TestService } from '../support/service.ts'

const uuid7 = /^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/
const utcMs = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/

export const anId: unknown = expect.stringMatching(uuid7)
export const anInstant: unknown = expect.stringMatching(utcMs)
/** An id that nothing has. */
export const absentId = '0199abcd-0000-7000-8000-00000000cafe'
/** What no id looks like; each is safe inside a path. */
export const malformedIds = [
  '1',
  'null',
  'me',
  '%00',
  '%27%20or%201%3D1',
  absentId.replaceAll('-', ''),
  `${absentId}0`,
]

/** Holds an answer to the one error shape: exactly three fields, in every refusal. */
export function expectRefusal({ status, body, headers }: Answer, wanted: number, message?: string | RegExp) {
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

/** What somebody is told who reads what they cannot: the status and the message. */
export async function said(who: Client, path: string): Promise<string> {
  const { status, body } = await who.get(path)
  return `${status} ${body.message}`
}

/** Holds an answer to a status and exactly this body. */
export function expectAnswer({ status, body }: Answer, wanted: number, exactly: unknown) {
  expect(body).toStrictEqual(exactly as never)
  expect(status).toBe(wanted)
}

/** What no required text of at most `most` characters may be. */
export const wrongTexts = (most: number): unknown[] => [
  '',
  ' \t\n',
  'x'.repeat(most + 1),
  'a\0b',
  '\ud800',
  'a\udc00b',
  7,
  true,
  null,
  ['x'],
  { x: 1 },
]

/** What no name or title of at most `most` characters may be: it would break a line of a log, or show itself otherwise than it is. */
export const wrongNames = (most: number): unknown[] => [
  ...wrongTexts(most),
  ...['a\nb', 'a\tb', 'a\rb', 'a\u001b[31mb', 'a\u007fb', 'a\u0085b', 'a\u009bb'],
  ...[
    'a\u202ab',
    'a\u202bb',
    'a\u202cb',
    'a\u202db',
    'a\u202eb',
    'a\u2066b',
    'a\u2067b',
    'a\u2068b',
    'a\u2069b',
  ],
]

/** Texts of at most `most` characters at their limits, each with how it is stored. */
export const rightTexts = (most: number): [sent: string, stored: string][] => [
  ['x', 'x'],
  ['x'.repeat(most), 'x'.repeat(most)],
  [`  ${'y'.repeat(most)}\n`, 'y'.repeat(most)],
  [
    "Grüße, 漢字 😀 שלום\u200f <b>'; drop table tasks; --",
    "Grüße, 漢字 😀 שלום\u200f <b>'; drop table tasks; --",
  ],
]

/** Texts of several lines and with any format, each with how it is stored. */
export const rightLines: [sent: string, stored: string][] = [
  ['one\n\ttwo\r\n\u202ethree\u202c\n', 'one\n\ttwo\r\n\u202ethree\u202c'],
]

/** How many facts the history of a project holds. */
export async function eventsOf({ services }: TestService, projectId: string): Promise<number> {
  const sql = services.database.reads
  const [row] = await sql<{ n: number }[]>`
    select count(*)::int4 as n from events where project_id = ${projectId}`
  return row?.n ?? 0
}
