import type { Query, ReadRequest } from '../commands/query.ts'
import { AsOfParameter, type Snapshot, pinToVersion } from '../log/as-of.ts'
import {
  firstRows,
  isArrivalLogged,
  loggedRows,
  visibleColumns,
  rowSources,
  personColumns,
  shownRow,
  type WithPerson,
} from '../log/rows-at.ts'
import { type EntityDefinition, parentKeys } from '../model/definition.ts'
import type { ChildOfTask, Entity, Rows } from '../model/entities.ts'
import { textLengthSql } from '../model/model.ts'
import { columnsOf } from '../postgres/columns.ts'
import type { Sql, SqlPart } from '../postgres/database.ts'
import { unprepared } from '../postgres/timeouts.ts'
import { type LookUp, requireVisible } from '../reads/lookups.ts'
import {
  Cursor,
  cutToLimit,
  maxUnmeasuredRows,
  readIdPage,
  Limit,
  type Page,
  pageOf,
  idBeforePage,
  untilPageFull,
} from '../reads/pages.ts'
import type { Versioned } from '../reads/versions.ts'
import { Input } from '../schema/input.ts'
import type { Services } from '../services.ts'
import { respondByDigest } from '../responses/reply.ts'
import { eventsExpired, notFound } from '../responses/errors.ts'
import { taskSnapshotParameters, snapshotOf, taskAt, projectIdNeedsAsOf } from './past-tasks.ts'

/** Defines the query that lists the children of a task or the members of a project, now or at a snapshot. */
export function childList<E extends Entity>(
  services: Services,
  entity: EntityDefinition<E>,
  findProject: LookUp<Versioned>,
  about = 'Oldest first.',
): Query {
  const isOfTask = entity.parent === 'task'
  const noun = isOfTask ? 'Task' : 'Project'
  const { reads } = services.database
  const pageOfChildren = openChildPage(reads, entity)
  const snapshotParameters = isOfTask ? taskSnapshotParameters() : { asOf: AsOfParameter() }
  return {
    about,
    input: Input({ limit: Limit(50, 200), cursor: Cursor(), ...snapshotParameters }),
    view: entity.view,
    isList: true,
    errors: [...(isOfTask ? [projectIdNeedsAsOf()] : []), ...services.snapshots.errors, notFound(noun)],
    async read(reading) {
      const { request, caller, params, query } = reading
      const page = readIdPage(query, 50, 200)
      if (query.asOf === undefined && query.projectId === undefined) {
        const project = await requireVisible(findProject, caller, params.id, noun)
        const rows = await pageOfChildren(params.id!, page, services.place(reads, { projects: [project] }))
        return respondByDigest(request, pageBody(entity, request, rows, page), project.version)
      }
      return listAsOf(services, entity, reading, page, noun)
    },
  }
}

/** @throws HttpError 404 if the parent did not exist at the snapshot */
async function listAsOf<E extends Entity>(
  services: Services,
  entity: EntityDefinition<E>,
  reading: ReadRequest,
  page: Page,
  noun: string,
): Promise<Response> {
  const { snapshots } = services
  const { request, caller } = reading
  const { id: parentId = '' } = reading.params
  const snapshot = await snapshotOf(services, reading, entity.parent === 'task' ? undefined : parentId)
  if (!snapshot) throw notFound(noun)
  const rows = await snapshots.read(caller, snapshot, (sql) =>
    childPageAt(services, sql, entity, { snapshot, parentId, page }),
  )
  if (!rows) throw notFound(noun)
  const pinned = pinToVersion(request, snapshot)
  return respondByDigest(request, pageBody(entity, pinned, rows, page), snapshot.version)
}

const pageBody = <E extends Entity>(
  entity: EntityDefinition<E>,
  request: Pick<Request, 'url'>,
  rows: Shown<Rows[E]>[],
  { limit }: Page,
) => {
  const shown = (row: Shown<Rows[E]>) => shownRow(entity, row)
  return pageOf(request, cutToLimit(rows, limit), shown, ({ id }) => [id])
}

type Shown<R> = R & WithPerson

/** Returns a function that reads a page of rows and one more row, which shows that another page follows. */
function openChildPage<E extends Entity>(sql: Sql, entity: EntityDefinition<E>, snapshot?: Snapshot) {
  const { name, table, parent } = entity
  const parentColumn = columnsOf(table).find(({ key }) => key === parentKeys[parent!])!.name
  const long = sql`${sql.unsafe(textLengthSql(name, 'octet_length'))}`
  const parentId = sql.unsafe(`t.${parentColumn}`)
  const by = sql`t.id, t.created_at`
  const { names, people } = personColumns(sql, entity, 't')
  const shown = sql`${visibleColumns(sql, name, 't', snapshot)} ${names}`
  const now = rowSources(sql, name)

  return (id: string, page: Page, own = sql, sources = now) => {
    const limit = page.limit + 1
    const where = sql`${parentId} = ${id} and t.id > ${idBeforePage(page)}`
    const rows = firstRows(sql, sources, { where, by, limit })
    const found = sql`select ${shown} from ${rows} t ${people} order by t.id`
    return own<Shown<Rows[E]>[]>`${limit <= maxUnmeasuredRows ? found : untilPageFull(sql, found, long)}`
  }
}

async function childPageAt<E extends Entity>(
  { oldestSeq }: Services,
  sql: Sql,
  entity: EntityDefinition<E>,
  { snapshot, parentId, page }: { snapshot: Snapshot; parentId: string; page: Page },
) {
  const { name } = entity
  const isOfTask = entity.parent === 'task'
  const rowsOf = openChildPage(sql, entity, snapshot)
  const read = (sources: SqlPart[]) => unprepared(rowsOf(parentId, page, sql, sources))
  const rows = await read(rowSources(sql, name, snapshot, isOfTask ? parentId : undefined))
  if (!isOfTask) return rows
  // The task is read after the rows: if it exists now, it existed when the rows were read.
  const task = await taskAt(sql, snapshot, parentId)
  if (!task?.hasLeft) return task && rows
  const logged = await read([loggedRows(sql, name as ChildOfTask, snapshot, parentId)])
  if (await isArrivalLogged(sql, snapshot, parentId)) return logged
  throw eventsExpired((await oldestSeq(snapshot.projectId)) ?? 1)
}
