import { notFound } from '../../src/wire/refusals.ts'
import { Cursor, Limit } from '../../src/reads/pages.ts'
import { Parameters } from '../../src/commands/input.ts'
import type { Query } from '../../src/commands/query.ts'
import type { Services } from '../../src/services.ts'
import { listOfTask } from '../tasks/list-of-task.ts'
import type { SeeTask } from '../tasks/queries.ts'
import { subtasksOf } from './queries.ts'
import { subtaskView } from './schema.ts'

/** What may be asked of subtasks. */
export function subtaskReads({ database, serve }: Services, seeTask: SeeTask) {
  const rowsOf = listOfTask(serve, seeTask, subtaskView.of, (taskId, page) =>
    subtasksOf(database.reads, taskId, page),
  )
  const list: Query = {
    about: 'Oldest first.',
    input: Parameters({ limit: Limit(50, 200), cursor: Cursor() }),
    shows: subtaskView,
    isList: true,
    refuses: [notFound('Task')],
    read: rowsOf,
  }
  return { list }
}
