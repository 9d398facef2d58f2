import { Type } from '@sinclair/typebox'
import { checked } from '../schema/input.ts'
import { isCount, parseInstant } from '../schema/text.ts'
import { badRequest } from '../responses/errors.ts'
import { parsedUrl } from '../responses/reply.ts'

export interface Snapshot {
  projectId: string
  version: number
  /** The version of the current rows. A read reverses the events between `version` and this version. */
  currentVersion: number
}

const isAsOf = (value: unknown) =>
  typeof value === 'string' && (isCount(value) || parseInstant(value) !== null)

export const AsOfParameter = () =>
  Type.Optional(
    checked<string>(isAsOf, {
      type: 'string',
      description:
        'A version of the project, or an ISO 8601 date-time with offset or a date (midnight UTC): the answer shows the state at that time, with the current names of people',
      examples: ['41', '2027-01-31T17:00:00.000Z'],
    }),
  )

export const parseAsOf = (text: string): number | string =>
  isCount(text) ? Number(text) : parseInstant(text)!

export const asOfAhead = () => badRequest('asOf is ahead of the project: it has no such version')
export const tooFarBack = (events: number) => badRequest(`asOf must be at most ${events} events back`)

/** Returns the request's URL with a version and a project, so that the next page shows the same snapshot. */
export function pinToVersion(
  request: Pick<Request, 'url'>,
  { projectId, version }: Snapshot,
): { url: string } {
  const { pathname, searchParams } = parsedUrl(request)
  searchParams.set('asOf', String(version))
  if (!pathname.includes(projectId)) searchParams.set('projectId', projectId)
  return { url: `${pathname}?${searchParams}` }
}
