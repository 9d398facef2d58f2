import type { TaskRow } from '../../drizzle/rows.ts'
import type { Query, ReadRequest } from '../../src/commands/query.ts'
import { pinToVersion } from '../../src/log/as-of.ts'
import type { Module } from '../../src/module.ts'
import { requireVisible, type VisibleProject } from '../../src/reads/lookups.ts'
import { pageOf } from '../../src/reads/pages.ts'
import { etagAt } from '../../src/reads/versions.ts'
import { notFound } from '../../src/responses/errors.ts'
import { pathAndQuery, respondByDigest, respondWithBody } from '../../src/responses/reply.ts'
import type { Services } from '../../src/services.ts'
import { openTaskSearch } from '../search/tasks.ts'
import { timedEtag } from '../tasks/claim.ts'
import { taskView, userFields } from '../tasks/schema.ts'
import { showClaims, type ShownClaims } from '../tasks/shown-claims.ts'
import { dependsOnTime } from './filters.ts'
import { asOfNeedsProject, badListQuery, ListTasksQuery, readTaskFilter } from './list-query.ts'
import { maxScannedTasks } from './list-rows.ts'
import { listCharged, listShown, listTasks } from './list.ts'
import type { TaskFilter } from './task-filter.ts'

function taskList(services: Services): Query {
  return {
    about: `Returns the tasks of one project, or of all projects of the caller. Without \`sort\`, the order is oldest first; with a filter by due date, earliest due date first. \`dueBefore\` and \`dueAfter\` are exclusive. Tasks without a due date are last with \`sort=dueDate\`, first with \`-dueDate\`. \`sort=position\` lists one project in the order of its tasks. All filters can be combined. Some filters scan at most ${maxScannedTasks} tasks of a project for a page, so a page before the last may have fewer tasks than \`limit\`.`,
    input: ListTasksQuery,
    view: taskView,
    isList: true,
    errors: [...badListQuery(), ...services.snapshots.errors, notFound('Project')],
    read: openReadTasks(services),
  }
}

const viewWith =
  ({ holderOf }: ShownClaims) =>
  (row: TaskRow) =>
    taskView.of(row, holderOf?.(row))

export type SeenProject = Omit<VisibleProject, 'role'>
type Reading = Pick<ReadRequest, 'request' | 'caller' | 'query'>

export function openReadTasks(services: Services) {
  const { findRole } = services
  const search = openTaskSearch(services)
  const list = openList(services)
  /** @param seen the project, if the caller of this function has checked that it is visible */
  return async (reading: Reading, seen?: SeenProject): Promise<Response> => {
    const { caller, query } = reading
    const filter = readTaskFilter(query, caller)
    const { projectId } = filter
    const project =
      seen ?? (projectId === undefined ? undefined : await requireVisible(findRole, caller, projectId))
    if (query.asOf !== undefined) return readAsOf(services, reading, filter, project)
    if (!filter.q) return list(reading, filter, project)
    const { q, others } = filter
    return search(caller, q, project?.projectId, async (found, isCurrent) => {
      const matching = Object.entries(found).map(([name, value]) => ({ name, value: value as unknown }))
      return list(reading, { ...filter, others: [...others, ...matching] }, project, isCurrent)
    })
  }
}

/** Returns a function that reads the current list. With `isCurrent`, one project's list changes only with its version. */
const openList =
  ({ charge, database, findPerson, serve }: Services) =>
  (
    { request, caller, query }: Reading,
    filter: TaskFilter,
    project: SeenProject | undefined,
    isCurrent = true,
  ): Response | Promise<Response> => {
    const { others, sort } = filter
    const sql = others.some(({ name }) => name === 'foundIds') ? database.searches : database.reads
    const { cursorOf } = sort
    const build = async (etag = '') => {
      const shown = await listShown(sql, filter)
      if (shown) return pageOf(request, shown, (row) => row, cursorOf, etag)
      const found = await listCharged(sql, filter, (cost, work) => charge(caller, cost, work))
      if (!found) throw notFound('Project')
      const claims = await showClaims(findPerson, found.rows)
      const tag = etag && claims.untilMs ? timedEtag(etag, claims.untilMs, project!.renaming) : etag
      return pageOf(request, found, viewWith(claims), cursorOf, tag)
    }
    if (!project || !isCurrent)
      return build().then((page) => respondWithBody(request, page, project?.version))
    if (dependsOnTime(filter)) return build().then((page) => respondByDigest(request, page, project.version))
    // The response for `me` depends on the caller.
    const suffix = userFields.some((name) => query[name] === 'me') ? `.${caller.userId}` : ''
    const etag = etagAt(project, suffix)
    const { version, renaming } = project
    return serve(request, pathAndQuery(request) + suffix, etag, () => build(etag), version, renaming)
  }

async function readAsOf(
  { findPerson, snapshots }: Services,
  { request, caller, query }: Reading,
  filter: TaskFilter,
  project: SeenProject | undefined,
): Promise<Response> {
  if (!project) throw asOfNeedsProject()
  const snapshot = await snapshots.find(project, query.asOf!)
  const found =
    snapshot && (await snapshots.read(caller, snapshot, (sql) => listTasks(sql, filter, snapshot)))
  if (!found) throw notFound('Project')
  const claims = await showClaims(findPerson, found.rows, true)
  const page = pageOf(pinToVersion(request, snapshot), found, viewWith(claims), filter.sort.cursorOf)
  return respondByDigest(request, page, snapshot.version)
}

export const taskLists: Module = { reads: (services) => [['/tasks', taskList(services), 'List tasks']] }
