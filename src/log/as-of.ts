import { Type } from '@sinclair/typebox'
import type { Charge } from '../admission/expensive.ts'
import type { Caller } from '../identity/rights.ts'
import type { Sql } from '../postgres/database.ts'
import { type OldestSeq, requireRetained, seqAt } from '../reads/retention.ts'
import type { Place } from '../reads/standbys.ts'
import type { Versioned } from '../reads/versions.ts'
import { eventsExpired, badRequest } from '../responses/errors.ts'
import { parsedUrl } from '../responses/reply.ts'
import { checked, isCount, parseInstant } from '../schema/input.ts'

export interface Snapshot {
  projectId: string
  version: number
  /** The current state of the project. A read reverses the events between `version` and its version. */
  project: Versioned
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

const asOfAhead = () => badRequest('asOf is ahead of the project: it has no such version')
const tooFarBack = (events: number) => badRequest(`asOf must be at most ${events} events back`)

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

/** Reversing this many events costs as much as one read without `asOf`. */
const eventsPerRead = 25

/** Finds and reads snapshots of projects. The caller must first check that the account may see the project. */
export function openSnapshots(
  sql: Sql,
  oldestSeq: OldestSeq,
  charge: Charge,
  maxEvents: number,
  place: Place,
) {
  /** Returns 0 if the instant is before the project's creation. @throws HttpError 410 if events of that time expired */
  async function versionAt(project: Versioned, instant: string): Promise<number> {
    const version = await seqAt(sql, project, instant)
    const oldest = (await oldestSeq(project.projectId)) ?? 1
    if (version >= oldest || oldest === 1) return version
    const [row] = await sql<{ isBefore: boolean }[]>`
      select created_at > ${instant}::text::timestamptz as is_before from projects where id = ${project.projectId}`
    if (row?.isBefore ?? true) return 0
    throw eventsExpired(oldest)
  }
  return {
    maxEvents,
    errors: [asOfAhead(), tooFarBack(maxEvents), eventsExpired(17)],
    /** Returns undefined before the project's creation. @throws HttpError 400 out of range, 410 if events expired */
    async find(project: Versioned, text: string): Promise<Snapshot | undefined> {
      const { projectId, version: currentVersion } = project
      const asOf = parseAsOf(text)
      const version = typeof asOf === 'number' ? asOf : await versionAt(project, asOf)
      if (version === 0) return undefined
      if (version > currentVersion) throw asOfAhead()
      if (version < currentVersion - maxEvents) throw tooFarBack(maxEvents)
      return { projectId, version, project }
    },
    /** @param cost of the query at the current version. @throws HttpError 410 if later events expired, 429 if the account has too many expensive requests */
    async read<T>(
      caller: Caller,
      { projectId, version, project }: Snapshot,
      query: (sql: Sql) => PromiseLike<T>,
      cost = 1,
      costOf?: (result: T) => number,
    ) {
      const read = (sql: Sql) => query(place(sql, { projects: [project], upTo: version }))
      const ofEvents = (project.version - version) / eventsPerRead
      const ofBoth = costOf && ((result: T) => ofEvents + costOf(result))
      const result = await charge(caller, ofEvents + cost, read, ofBoth)
      await requireRetained(oldestSeq, projectId, version)
      return result
    },
  }
}
