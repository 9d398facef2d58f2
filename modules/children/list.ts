import type { Query, ReadRequest } from '../../src/commands/query.ts'
import { AsOfParameter, type Moment, pinned } from '../../src/log/as-of.ts'
import { firstRows, shownColumns, sourcesOf } from '../../src/log/rows-at.ts'
import { isArrivalTold, rowsTold } from '../../src/log/told-children.ts'
import { type EntityDefinition, parentKeys } from '../../src/model/definition.ts'
import type { ChildOfTask, Entity, Rows } from '../../src/model/entities.ts'
import { textLengthSql, personIdOf } from '../../src/model/model.ts'
import { columnsOf } from '../../src/postgres/columns.ts'
import type { Sql, SqlPart } from '../../src/postgres/database.ts'
import { unprepared } from '../../src/postgres/query-timeouts.ts'
import { gone } from '../../src/reads/kept.ts'
import { type LookUp, requireSeen } from '../../src/reads/lookups.ts'
import {
  Cursor,
  cut,
  fewRows,
  idPage,
  Limit,
  type Page,
  pageOf,
  startOf,
  untilFull,
} from '../../src/reads/pages.ts'
import { etagAt, type Versioned } from '../../src/reads/versions.ts'
import { Input } from '../../src/schema/input.ts'
import type { Services } from '../../src/services.ts'
import { respondByDigest, pathAndQuery } from '../../src/responses/reply.ts'
import { notFound } from '../../src/responses/errors.ts'
import { asOfTask, momentOf, taskThen, withoutAsOf } from '../tasks/past.ts'

/**
 * The list of an entity's rows below a task or project, oldest first: as they are, or as they were.
 * @param see finds the project of a parent
 */
export function childList<E extends Entity>(
  services: Services,
  entity: EntityDefinition<E>,
  see: LookUp<Versioned>,
  about = 'Oldest first.',
): Query {
  const isOfTask = entity.parent === 'task'
  const noun = isOfTask ? 'Task' : 'Project'
  const listNow = openListNow(services, entity)
  const pastOf = isOfTask ? asOfTask() : { asOf: AsOfParameter() }
  return {
    about,
    input: Input({ limit: Limit(50, 200), cursor: Cursor(), ...pastOf }),
    view: entity.view,
    isList: true,
    errors: [...(isOfTask ? [withoutAsOf()] : []), ...services.moments.errors, notFound(noun)],
    async read(reading) {
      const { caller, params, query } = reading
      const page = idPage(query, 50, 200)
      if (query.asOf === undefined && query.projectId === undefined)
        return listNow(reading, page, await requireSeen(see, caller, params.id, noun))
      const found = await listThen(services, entity, reading, page)
      if (!found) throw notFound(noun)
      return found
    },
  }
}

function openListNow<E extends Entity>({ database, serve }: Services, entity: EntityDefinition<E>) {
  const pageOfChildren = openChildPage(database.reads, entity)
  return async ({ request, params }: ReadRequest, page: Page, seen: Versioned): Promise<Response> => {
    const build = async (etag: string) =>
      answer(entity, request, await pageOfChildren(params.id!, page), page, etag)
    // Renaming an account changes no project: where names are shown, the version alone is no ETag.
    const etag = entity.person ? seen.renaming && etagAt(seen, `.${seen.renaming}`) : etagAt(seen)
    if (!etag) return respondByDigest(request, await build(''), seen.version)
    return serve(request, pathAndQuery(request), etag, () => build(etag), seen.version)
  }
}

/** Undefined if there was no such parent. */
async function listThen<E extends Entity>(
  services: Services,
  entity: EntityDefinition<E>,
  reading: ReadRequest,
  page: Page,
): Promise<Response | undefined> {
  const { moments } = services
  const { request, caller } = reading
  const { id: parentId = '' } = reading.params
  const moment = await momentOf(services, reading, entity.parent === 'task' ? undefined : parentId)
  if (!moment) return undefined
  const about = { moment, parentId, page }
  const rows = await moments.read(caller, moment, (sql) => childPageThen(services, sql, entity, about))
  return rows && respondByDigest(request, answer(entity, pinned(request, moment), rows, page), moment.version)
}

const answer = <E extends Entity>(
  { name, view }: EntityDefinition<E>,
  request: Pick<Request, 'url'>,
  rows: Named<Rows[E]>[],
  { limit }: Page,
  etag?: string,
) => {
  const shown = (row: Named<Rows[E]>) => {
    const { personName, personEmail } = row
    if (personName == null || personEmail == null) return view.of(row)
    return view.of(row, { id: personIdOf(name, row)!, name: personName, email: personEmail, nameTag: '' })
  }
  return pageOf(request, cut(rows, limit), shown, ({ id }) => [id], etag)
}

/** A row with the account whose name its view shows; name and email are null once the account is deleted. */
type Named<R> = R & { personName?: string | null; personEmail?: string | null }

/** Opens the pages of rows that belong to a parent, oldest first, with one row more than the limit. */
function openChildPage<E extends Entity>(sql: Sql, entity: EntityDefinition<E>, moment?: Moment) {
  const { name, table, parent, person } = entity
  const nameOf = (key: string) => columnsOf(table).find((column) => column.key === key)!.name
  // The parts of the text that are always the same are made once.
  const long = sql`${sql.unsafe(textLengthSql(name, 'octet_length'))}`
  const parentId = sql.unsafe(`t.${nameOf(parentKeys[parent!])}`)
  const by = sql`t.id, t.created_at`
  const names = person ? sql`, u.name as person_name, u.email as person_email` : sql``
  const shown = sql`${shownColumns(sql, name, 't', moment)} ${names}`
  const people = person ? sql.unsafe(`left join users u on u.id = t.${nameOf(person)}`) : sql``
  const now = sourcesOf(sql, name)

  return (id: string, page: Page, sources = now) => {
    const limit = page.limit + 1
    const where = sql`${parentId} = ${id} and t.id > ${startOf(page)}`
    const rows = firstRows(sql, sources, { where, by, limit })
    const found = sql`select ${shown} from ${rows} t ${people} order by t.id`
    return sql<Named<Rows[E]>[]>`${limit <= fewRows ? found : untilFull(sql, found, long)}`
  }
}

/** A page of children as they were at a moment; undefined if there was no such parent. @throws HttpError 410 */
async function childPageThen<E extends Entity>(
  { oldestKept }: Services,
  sql: Sql,
  entity: EntityDefinition<E>,
  { moment, parentId, page }: { moment: Moment; parentId: string; page: Page },
) {
  const { name } = entity
  const isOfTask = entity.parent === 'task'
  const rowsOf = openChildPage(sql, entity, moment)
  const read = (sources: SqlPart[]) => unprepared(rowsOf(parentId, page, sources))
  const rows = await read(sourcesOf(sql, name, moment, isOfTask ? parentId : undefined))
  if (!isOfTask) return rows
  // Read after the rows: a task that exists now existed when they were read.
  const task = await taskThen(sql, moment, parentId)
  if (!task?.isGone) return task && rows
  const told = await read([rowsTold(sql, name as ChildOfTask, moment, parentId)])
  if (await isArrivalTold(sql, moment, parentId)) return told
  throw gone((await oldestKept(moment.projectId)) ?? 1)
}
