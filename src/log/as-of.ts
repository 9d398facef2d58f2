import { Type } from '@sinclair/typebox'
import { checked } from '../schema/input.ts'
import { isCount, parseInstant } from '../schema/text.ts'
import { badRequest } from '../responses/errors.ts'
import { parsedUrl } from '../responses/reply.ts'

/** A project at one of its versions. */
export interface Moment {
  projectId: string
  version: number
  /** The version that it has now: the events between are taken back. */
  now: number
}

const isAsOf = (value: unknown) =>
  typeof value === 'string' && (isCount(value) || parseInstant(value) !== null)

export const AsOfParameter = () =>
  Type.Optional(
    checked<string>(isAsOf, {
      type: 'string',
      description:
        'A version of the project, or an ISO 8601 date-time with offset or a date (midnight UTC): the answer is as it was then, but for the names of people',
      examples: ['41', '2027-01-31T17:00:00.000Z'],
    }),
  )

/** A version of a project, or an instant as this API writes it. */
export const readAsOf = (text: string): number | string =>
  isCount(text) ? Number(text) : parseInstant(text)!

export const ahead = () => badRequest('asOf is ahead of the project: it has no such version')
export const tooFarBack = (events: number) => badRequest(`asOf must be at most ${events} events back`)

/** The same request for one version of one project: at the next page an instant, or a moved task, would mean another. */
export function pinned(request: Pick<Request, 'url'>, { projectId, version }: Moment): { url: string } {
  const { pathname, searchParams } = parsedUrl(request)
  searchParams.set('asOf', String(version))
  if (!pathname.includes(projectId)) searchParams.set('projectId', projectId)
  return { url: `${pathname}?${searchParams}` }
}
