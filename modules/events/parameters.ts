import { type Static, Type } from '@sinclair/typebox'
import { checked, Input } from '../../src/schema/input.ts'
import { Limit, readLimit } from '../../src/reads/pages.ts'
import { isCount } from '../../src/schema/text.ts'
import { badRequest } from '../../src/responses/errors.ts'
import { model } from '../modules.ts'

export const mostSeq = 999_999_999_999_999
export const mostSeconds = 25

// `readAsked` reads the texts of a URL. Elysia would fill in a `default`, so the schema has a `fallback`.
const isCountTo = (value: unknown, { maximum }: { maximum: number }) =>
  isCount(value) && Number(value) <= maximum

const { eventTypes } = model
const isType = (name: string) => (eventTypes as string[]).includes(name)
const isTypes = (value: unknown) => typeof value === 'string' && value.split(',').every(isType)

const Count = (maximum: number, description: string, example: number) =>
  Type.Optional(
    checked<string>(isCountTo, {
      type: 'integer',
      minimum: 0,
      maximum,
      fallback: 0,
      description,
      examples: [example],
    }),
  )

export const EventTypes = () =>
  Type.Optional(
    checked<string>(isTypes, {
      type: 'string',
      description: `Event types with commas between: only events of these, of ${eventTypes.join(', ')}`,
      examples: ['task.created,task.updated'],
    }),
  )

export const EventsQuery = Input({
  after: Count(mostSeq, 'A whole number: the seq of the last event that is known, 0 for none', 41),
  limit: Limit(100, 500),
  wait: Count(
    mostSeconds,
    `A whole number from 0 to ${mostSeconds}: the seconds to hold the answer while it would be []`,
    25,
  ),
  types: EventTypes(),
})

export type Asked = ReturnType<typeof readAsked>

export const lastEventIdHeader = 'Last-Event-ID'

export const ahead = (said = 'after') => badRequest(`${said} is ahead of the project: it has no such version`)

export const badLastEventId = () => badRequest(`${lastEventIdHeader} must be the seq of an event`)

/** The last event that a client received before its stream was cut. @throws HttpError 400 */
export function lastEventId({ headers }: Request): number | null {
  const said = headers.get(lastEventIdHeader)
  if (!said) return null
  if (!isCount(said)) throw badLastEventId()
  return Number(said)
}

/** @throws HttpError 400 */
export const readAsked = ({ after, limit, types, wait }: Static<typeof EventsQuery>) => ({
  after: Number(after ?? 0),
  limit: readLimit(limit, 100, 500),
  types: types?.split(',') ?? null,
  waitMs: Number(wait ?? 0) * 1_000,
})
