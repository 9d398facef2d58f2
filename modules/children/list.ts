import { Input } from '../../src/schema/input.ts'
import type { Query, Reading } from '../../src/commands/query.ts'
import type { Caller } from '../../src/identity/rights.ts'
import { isId } from '../../src/ids.ts'
import { AsOfParameter, pinned } from '../../src/log/as-of.ts'
import { type Named, openChildPage, personOf } from '../../src/log/child-page.ts'
import type { Definition } from '../../src/model/definition.ts'
import type { Entity, Rows } from '../../src/model/entities.ts'
import { definitionOf } from '../../src/model/model.ts'
import { Cursor, cut, idPage, Limit, type Page, pageOf } from '../../src/reads/pages.ts'
import { etagAt, type Versioned } from '../../src/reads/versions.ts'
import type { Services } from '../../src/services.ts'
import { digested, pathOf } from '../../src/wire/answers.ts'
import { notFound } from '../../src/wire/refusals.ts'
import { asOfTask, isOfPast, momentOf, withoutAsOf } from '../tasks/past.ts'
import { childPageThen } from './then.ts'

/** The project of a parent at its current version; undefined if the caller may not see it. */
type See = (caller: Caller, parentId: string) => Promise<Versioned | undefined>

/** The list of an entity's rows below a task or project, oldest first: as they are, or as they were. */
export function childList<E extends Entity>(
  services: Services,
  entity: Definition<E>,
  see: See,
  about = 'Oldest first.',
): Query {
  const isOfTask = entity.parent === 'task'
  const noun = isOfTask ? 'Task' : 'Project'
  const listNow = openListNow(services, entity)
  const pastOf = isOfTask ? asOfTask() : { asOf: AsOfParameter() }
  return {
    about,
    input: Input({ limit: Limit(50, 200), cursor: Cursor(), ...pastOf }),
    shows: entity.view,
    isList: true,
    refuses: [...(isOfTask ? [withoutAsOf()] : []), ...services.moments.refuses, notFound(noun)],
    async read(reading) {
      const { caller, params, query } = reading
      const { id = '' } = params
      const page = idPage(query, 50, 200)
      if (isOfPast(query)) {
        const found = await listThen(services, entity, reading, page)
        if (found) return found
      } else {
        const seen = isId(id) && (await see(caller, id))
        if (seen) return listNow(reading, page, seen)
      }
      throw notFound(noun)
    },
  }
}

function openListNow<E extends Entity>({ database, serve }: Services, { name, person }: Definition<E>) {
  const pageOfChildren = openChildPage(database.reads, name)
  return async ({ request, params }: Reading, page: Page, seen: Versioned): Promise<Response> => {
    const build = async (etag: string) =>
      answer(name, request, await pageOfChildren(params.id!, page), page, etag)
    // Renaming an account changes no project: where names are shown, the version alone is no ETag.
    const etag = person ? seen.renaming && etagAt(seen, `.${seen.renaming}`) : etagAt(seen)
    if (!etag) return digested(request, await build(''), seen.version)
    return serve(request, pathOf(request), etag, () => build(etag), seen.version)
  }
}

/** Undefined if there was no such parent. */
async function listThen<E extends Entity>(
  services: Services,
  entity: Definition<E>,
  reading: Reading,
  page: Page,
): Promise<Response | undefined> {
  const { moments, oldestKept } = services
  const { request, caller, params } = reading
  const { id = '' } = params
  const moment = await momentOf(services, reading, entity.parent === 'task' ? undefined : id)
  if (!moment) return undefined
  const about = { moment, parentId: id, page }
  const rows = await moments.read(caller, moment, (sql) => childPageThen({ sql, oldestKept }, entity, about))
  return rows && digested(request, answer(entity.name, pinned(request, moment), rows, page), moment.version)
}

const answer = <E extends Entity>(
  entity: E,
  request: Pick<Request, 'url'>,
  rows: Named<Rows[E]>[],
  { limit }: Page,
  etag?: string,
) =>
  pageOf(
    request,
    cut(rows, limit),
    (row) => definitionOf(entity).view.of(row, personOf(entity, row)),
    ({ id }) => [id],
    etag,
  )
