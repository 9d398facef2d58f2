import type { TaskRow } from '../../drizzle/rows.ts'
import type { Query } from '../../src/commands/query.ts'
import { pinToVersion } from '../../src/log/as-of.ts'
import type { Module } from '../../src/module.ts'
import { pageOf } from '../../src/reads/pages.ts'
import { notFound } from '../../src/responses/errors.ts'
import { respondByDigest } from '../../src/responses/reply.ts'
import type { Services } from '../../src/services.ts'
import { timedEtag } from '../tasks/claim.ts'
import { taskView } from '../tasks/schema.ts'
import { showClaims, type ShownClaims } from '../tasks/shown-claims.ts'
import { taskCounts } from './counts.ts'
import {
  type Found,
  openFindTasks,
  placeFor,
  type Reading,
  respondNow,
  type SeenProject,
} from './find-tasks.ts'
import { badListQuery, ListTasksQuery } from './list-query.ts'
import { maxScannedTasks, listCharged, listShown, listTasks } from './list.ts'
import type { TaskFilter } from './sorts.ts'

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
    const shown = await listShown(own, filter)
    if (shown) return pageOf(request, shown, (row) => row, cursorOf, etag)
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

export const taskLists: Module = {
  reads: (services) => [
    ['/tasks', taskList(services), 'List tasks'],
    ['/tasks/counts', taskCounts(services), 'Count tasks'],
  ],
}
