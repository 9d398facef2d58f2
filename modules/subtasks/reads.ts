import { notFound } from '../../src/wire/refusals.ts'
import { Cursor, Limit } from '../../src/reads/pages.ts'
import { AsOfParameter } from '../../src/past/as-of.ts'
import { Parameters } from '../../src/commands/input.ts'
import type { Query } from '../../src/commands/query.ts'
import type { Services } from '../../src/services.ts'
import { listOfTask } from '../tasks/list-of-task.ts'
import type { SeeTask } from '../tasks/queries.ts'
import { subtasksOf } from './queries.ts'
import { subtaskView } from './schema.ts'

/** What may be asked of subtasks. */
export function subtaskReads(services: Services, seeTask: SeeTask) {
  const { database, moments } = services
  const rowsOf = listOfTask(services, seeTask, {
    entity: 'subtask',
    view: subtaskView.of,
    read: (taskId, page, subtasks) => subtasksOf(database.reads, taskId, page, subtasks),
  })
  const list: Query = {
    about: 'Oldest first.',
    input: Parameters({ limit: Limit(50, 200), cursor: Cursor(), asOf: AsOfParameter() }),
    shows: subtaskView,
    isList: true,
    refuses: [...moments.refuses, notFound('Task')],
    read: rowsOf,
  }
  return { list }
}
