import type { Query, Reading } from '../../src/commands/query.ts'
import { AsOfParameter, pinned } from '../../src/log/as-of.ts'
import type { Definition } from '../../src/model/definition.ts'
import type { Entity, Rows } from '../../src/model/entities.ts'
import { personIn } from '../../src/model/model.ts'
import { type LookUp, requireSeen } from '../../src/reads/lookups.ts'
import { Cursor, cut, idPage, Limit, type Page, pageOf } from '../../src/reads/pages.ts'
import { etagAt, type Versioned } from '../../src/reads/versions.ts'
import { Input } from '../../src/schema/input.ts'
import type { Services } from '../../src/services.ts'
import { digested, pathOf } from '../../src/wire/answers.ts'
import { notFound } from '../../src/wire/refusals.ts'
import { asOfTask, isOfPast, momentOf, withoutAsOf } from '../tasks/past.ts'
import { childPageThen, type Named, openChildPage } from './page.ts'

/**
 * The list of an entity's rows below a task or project, oldest first: as they are, or as they were.
 * @param see finds the project of a parent
 */
export function childList<E extends Entity>(
  services: Services,
  entity: Definition<E>,
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
    shows: entity.view,
    isList: true,
    refuses: [...(isOfTask ? [withoutAsOf()] : []), ...services.moments.refuses, notFound(noun)],
    async read(reading) {
      const { caller, params, query } = reading
      const page = idPage(query, 50, 200)
      if (!isOfPast(query)) return listNow(reading, page, await requireSeen(see, caller, params.id, noun))
      const found = await listThen(services, entity, reading, page)
      if (!found) throw notFound(noun)
      return found
    },
  }
}

function openListNow<E extends Entity>({ database, serve }: Services, entity: Definition<E>) {
  const pageOfChildren = openChildPage(database.reads, entity.name)
  return async ({ request, params }: Reading, page: Page, seen: Versioned): Promise<Response> => {
    const build = async (etag: string) =>
      answer(entity, request, await pageOfChildren(params.id!, page), page, etag)
    // Renaming an account changes no project: where names are shown, the version alone is no ETag.
    const etag = entity.person ? seen.renaming && etagAt(seen, `.${seen.renaming}`) : etagAt(seen)
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
  const { id: parentId = '' } = params
  const moment = await momentOf(services, reading, entity.parent === 'task' ? undefined : parentId)
  if (!moment) return undefined
  const about = { moment, parentId, page }
  const read = moments.read(caller, moment, (sql) => childPageThen(sql, oldestKept, entity.name, about))
  const rows = await read
  return rows && digested(request, answer(entity, pinned(request, moment), rows, page), moment.version)
}

const answer = <E extends Entity>(
  { name, view }: Definition<E>,
  request: Pick<Request, 'url'>,
  rows: Named<Rows[E]>[],
  { limit }: Page,
  etag?: string,
) => {
  const shown = (row: Named<Rows[E]>) => {
    const { personName, personEmail } = row
    if (personName == null || personEmail == null) return view.of(row)
    return view.of(row, { id: personIn(name, row)!, name: personName, email: personEmail, nameTag: '' })
  }
  return pageOf(request, cut(rows, limit), shown, ({ id }) => [id], etag)
}
