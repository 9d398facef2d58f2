import { notFound } from '../../src/wire/refusals.ts'
import { digested } from '../../src/wire/etags.ts'
import { isId } from '../../src/ids.ts'
import { Cursor, Limit, cut, idPage, pageOf } from '../../src/reads/pages.ts'
import { Parameters } from '../../src/commands/input.ts'
import type { Query } from '../../src/commands/query.ts'
import type { Services } from '../../src/services.ts'
import type { ListOfTask } from '../tasks/list-of-task.ts'
import { askedThen, asOfTask, listThen, withoutAsOf } from '../tasks/past.ts'
import type { SeeTask } from '../tasks/queries.ts'
import { commentsOf, type ListedComment } from './queries.ts'
import { commentView } from './schema.ts'

/** What may be asked of comments. */
export function commentReads(services: Services, seeTask: SeeTask) {
  const { database, moments } = services
  const asList: ListOfTask<ListedComment> = {
    entity: 'comment',
    view: shown,
    read: (sql, taskId, page, comments) => commentsOf(sql, taskId, page, comments),
  }
  // Under a digest, not under the project's version: what an author does to their account changes what the list
  // says, and no project.
  const list: Query = {
    about: 'Oldest first.',
    input: Parameters({ limit: Limit(50, 200), cursor: Cursor(), ...asOfTask() }),
    shows: commentView,
    isList: true,
    refuses: [withoutAsOf(), ...moments.refuses, notFound('Task')],
    async read(reading) {
      const { request, query, caller, params } = reading
      const { id: taskId = '' } = params
      const asked = idPage(query, 50, 200)
      const then = askedThen(reading)
      if (then) return listThen(services, then, { ...asList, page: asked })
      const task = isId(taskId) && (await seeTask(caller, taskId))
      if (!task) throw notFound('Task')
      const rows = await commentsOf(database.reads, taskId, asked)
      const page = pageOf(request, cut(rows, asked.limit), shown, ({ id }) => [id])
      return digested(request, page, task.version)
    },
  }
  return { list }
}

function shown({ authorName: name, ...row }: ListedComment): object {
  return commentView.of(row, name === null ? undefined : { id: row.authorId, name, email: '', nameTag: '' })
}
