import { Parameters } from '../../src/commands/input.ts'
import type { Query, Reading } from '../../src/commands/query.ts'
import type { Caller } from '../../src/identity/caller.ts'
import { isId } from '../../src/ids.ts'
import { AsOfParameter, pinned } from '../../src/log/as-of.ts'
import type { Moment } from '../../src/log/moments.ts'
import { childPage, type Named, sourcesOf } from '../../src/log/rows-at.ts'
import { isArrivalTold, rowsTold } from '../../src/log/rows-told.ts'
import type { Definition } from '../../src/model/definition.ts'
import type { ChildOfTask, Entity, Rows } from '../../src/model/entities.ts'
import { personIn } from '../../src/model/model.ts'
import type { Sql, SqlPart } from '../../src/postgres/database.ts'
import { unprepared } from '../../src/postgres/queries.ts'
import { gone } from '../../src/reads/kept.ts'
import { Cursor, cut, idPage, Limit, type Page, pageOf } from '../../src/reads/pages.ts'
import { etagAt, type Versioned } from '../../src/reads/versions.ts'
import type { Services } from '../../src/services.ts'
import { pathOf } from '../../src/wire/answers.ts'
import { digested } from '../../src/wire/etags.ts'
import { notFound } from '../../src/wire/refusals.ts'
import { asOfTask, isOfPast, momentOf, withoutAsOf } from '../tasks/past.ts'
import { taskThen } from '../tasks/queries-then.ts'

/** The project of a parent at its current version; undefined if the caller may not see it. */
type See = (caller: Caller, parentId: string) => Promise<Versioned | undefined>

/** The list of an entity's rows below a task or project, oldest first: as they are, or as they were. */
export function childList<E extends Entity>(
  services: Services,
  { name, parent, person, view }: Definition<E>,
  see: See,
  about = 'Oldest first.',
): Query {
  const { database, moments, oldestKept, serve } = services
  const isOfTask = parent === 'task'
  const missing = () => notFound(isOfTask ? 'Task' : 'Project')

  function shown(row: Named<Rows[E]>): object {
    const { personName, personEmail } = row
    if (personName == null || personEmail == null) return view.of(row)
    return view.of(row, { id: personIn(name, row)!, name: personName, email: personEmail, nameTag: '' })
  }
  const answer = (request: Pick<Request, 'url'>, rows: Named<Rows[E]>[], { limit }: Page, etag?: string) =>
    pageOf(request, cut(rows, limit), shown, ({ id }) => [id], etag)

  /** Undefined if there was no such parent. @throws Refusal 410 */
  async function rowsThen(sql: Sql, moment: Moment, parentId: string, page: Page) {
    const read = (sources: SqlPart[]) => unprepared(childPage(sql, name, parentId, page, sources))
    const rows = await read(sourcesOf(sql, name, moment, isOfTask ? parentId : undefined))
    if (!isOfTask) return rows
    // Read after the rows: a task that exists now existed when they were read.
    const task = await taskThen(sql, moment, parentId)
    if (!task?.isGone) return task && rows
    const told = await read([rowsTold(sql, name as ChildOfTask, moment, parentId)])
    if (await isArrivalTold(sql, moment, parentId)) return told
    throw gone((await oldestKept(moment.projectId)) ?? 1)
  }

  async function listThen(reading: Reading, parentId: string, page: Page): Promise<Response> {
    const { request, caller } = reading
    const moment = await momentOf(services, reading, isOfTask ? undefined : parentId)
    const rows =
      moment && (await moments.read(caller, moment, (sql) => rowsThen(sql, moment, parentId, page)))
    if (!rows) throw missing()
    return digested(request, answer(pinned(request, moment), rows, page), moment.version)
  }

  return {
    about,
    input: Parameters({
      ...{ limit: Limit(50, 200), cursor: Cursor() },
      ...(isOfTask ? asOfTask() : { asOf: AsOfParameter() }),
    }),
    shows: view,
    isList: true,
    refuses: [...(isOfTask ? [withoutAsOf()] : []), ...moments.refuses, missing()],
    async read(reading) {
      const { request, caller, query } = reading
      const { id = '' } = reading.params
      const page = idPage(query, 50, 200)
      if (isOfPast(query)) return listThen(reading, id, page)
      const seen = isId(id) && (await see(caller, id))
      if (!seen) throw missing()
      // Renaming an account changes no project: where names are shown, the version alone is no ETag.
      const etag = person ? seen.renaming && etagAt(seen, `.${seen.renaming}`) : etagAt(seen)
      const build = async () => answer(request, await childPage(database.reads, name, id, page), page, etag)
      return etag
        ? serve(request, pathOf(request), etag, build, seen.version)
        : digested(request, await build(), seen.version)
    },
  }
}
