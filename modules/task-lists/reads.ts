import type { TaskRow } from '../../drizzle/rows.ts'
import type { ReadRequest } from '../../src/commands/query.ts'
import { pinToVersion } from '../../src/log/as-of.ts'
import { pageOf } from '../../src/reads/pages.ts'
import { notFound } from '../../src/responses/errors.ts'
import { respondByDigest, type CachedBody, pathAndQuery, respondWithBody } from '../../src/responses/reply.ts'
import type { Services } from '../../src/services.ts'
import { timedEtag } from '../tasks/claim.ts'
import { taskView, userFields } from '../tasks/schema.ts'
import { showClaims, type ShownClaims } from '../tasks/shown-claims.ts'
import { asOfNeedsProject, readTaskFilter } from './list-query.ts'
import { listCharged, listTasks } from './list.ts'
import type { TaskFilter } from './sorts.ts'
import { requireVisible, type VisibleProject } from '../../src/reads/lookups.ts'
import type { Sql } from '../../src/postgres/database.ts'
import type { Demand } from '../../src/reads/standbys.ts'
import { etagAt } from '../../src/reads/versions.ts'
import { openTaskSearch } from '../search/find.ts'
import { dependsOnTime } from './filters.ts'

const viewWith =
  ({ holderOf }: ShownClaims) =>
  (row: TaskRow) =>
    taskView.of(row, holderOf?.(row))

/** Returns a function that responds with a list of tasks. */
export const openReadTasks = (services: Services) => openFindTasks(services, openList(services))

/** Returns a function that reads the list, now or as of a version. */
const openList = (services: Services) => (reading: Reading, found: Found) => {
  const { filter, project } = found
  if (reading.query.asOf !== undefined) return listAsOf(services, reading, filter, project!)
  const { charge, database, findPerson } = services
  const { request, caller } = reading
  const { others, sort } = filter
  const sql = others.some(({ name }) => name === 'foundIds') ? database.searches : database.reads
  const { cursorOf } = sort
  return respondNow(services, reading, found, async (etag = '') => {
    const own = placeFor(services, sql, found)
    const page = await listCharged(own, filter, (cost, work) => charge(caller, cost, work))
    if (!page) throw notFound('Project')
    const claims = await showClaims(findPerson, page.rows)
    const tag = etag && claims.untilMs ? timedEtag(etag, claims.untilMs, project!.renaming) : etag
    return pageOf(request, page, viewWith(claims), cursorOf, tag)
  })
}

async function listAsOf(
  { findPerson, snapshots }: Services,
  { request, caller, query }: Reading,
  filter: TaskFilter,
  project: SeenProject,
): Promise<Response> {
  const snapshot = await snapshots.find(project, query.asOf!)
  const found =
    snapshot && (await snapshots.read(caller, snapshot, (sql) => listTasks(sql, filter, snapshot)))
  if (!found) throw notFound('Project')
  const claims = await showClaims(findPerson, found.rows, true)
  const page = pageOf(pinToVersion(request, snapshot), found, viewWith(claims), filter.sort.cursorOf)
  return respondByDigest(request, page, snapshot.version)
}

export type SeenProject = Omit<VisibleProject, 'role'>
/** `by`: what the tasks are counted by. */
export type Reading = Pick<ReadRequest, 'request' | 'caller' | 'query'> & { by?: string }
type Reply = Response | Promise<Response>

export interface Found {
  filter: TaskFilter
  /** With `asOf`, there is a project. */
  project: SeenProject | undefined
  /** True if the response for one project changes only with its version. */
  isCurrent: boolean
  /** The state of the documents that the search of the filter read. */
  demand?: Demand | undefined
}
type Respond = (reading: Reading, found: Found) => Reply

/** Returns a function that reads the query of a list of tasks, and finds its project and the tasks of a search. */
export function openFindTasks(services: Services, respond: Respond) {
  const { findRole } = services
  const search = openTaskSearch(services)
  /** @param seen the project, if the caller of this function has checked that it is visible */
  return async (reading: Reading, seen?: SeenProject): Promise<Response> => {
    const { caller, query } = reading
    const filter = readTaskFilter(query, caller)
    const { projectId } = filter
    const project =
      seen ?? (projectId === undefined ? undefined : await requireVisible(findRole, caller, projectId))
    if (query.asOf !== undefined && !project) throw asOfNeedsProject()
    if (!filter.q) return respond(reading, { filter, project, isCurrent: true })
    const { q, others } = filter
    return search(caller, q, project?.projectId, async (found, { indexed, demand }) => {
      const matching = Object.entries(found).map(([name, value]) => ({ name, value: value as unknown }))
      const complete = { ...filter, others: [...others, ...matching] }
      return respond(reading, { filter: complete, project, isCurrent: indexed === 'all', demand })
    })
  }
}

/** Chooses the server of a list of one project. @param found with the demand of its search */
export const placeFor = ({ place }: Services, sql: Sql, { filter, project, isCurrent, demand }: Found) =>
  project && isCurrent && !dependsOnTime(filter) ? place(sql, demand ?? { projects: [project] }) : sql

/** The part of an ETag for `me`: the response depends on the caller. */
export const suffixFor = ({ caller, query }: Reading): string =>
  userFields.some((name) => query[name] === 'me') ? `.${caller.userId}` : ''

/** Responds with the body that `build` returns. @param build gets the ETag of the body, if it has one before it is built */
export function respondNow(
  { serve }: Services,
  reading: Reading,
  { filter, project, isCurrent }: Found,
  build: (etag?: string) => Promise<CachedBody>,
): Reply {
  const { request } = reading
  if (!project || !isCurrent) return build().then((body) => respondWithBody(request, body, project?.version))
  const { version, renaming } = project
  if (dependsOnTime(filter)) return build().then((body) => respondByDigest(request, body, version))
  const suffix = suffixFor(reading)
  const etag = etagAt(project, suffix)
  return serve(request, pathAndQuery(request) + suffix, etag, () => build(etag), version, renaming)
}
