import { notFound } from '../../src/wire/refusals.ts'
import { Cursor, Limit } from '../../src/reads/pages.ts'
import { Parameters } from '../../src/commands/input.ts'
import type { Query } from '../../src/commands/query.ts'
import type { Services } from '../../src/services.ts'
import { listOfTask } from '../tasks/list-of-task.ts'
import { asOfTask, withoutAsOf } from '../tasks/past.ts'
import type { SeeTask } from '../tasks/queries.ts'
import { subtasksOf } from './queries.ts'
import { subtaskView } from './schema.ts'

/** What may be asked of subtasks. */
export function subtaskReads(services: Services, seeTask: SeeTask) {
  const { moments } = services
  const rowsOf = listOfTask(services, seeTask, {
    entity: 'subtask',
    view: subtaskView.of,
    read: (sql, taskId, page, subtasks) => subtasksOf(sql, taskId, page, subtasks),
  })
  const list: Query = {
    about: 'Oldest first.',
    input: Parameters({ limit: Limit(50, 200), cursor: Cursor(), ...asOfTask() }),
    shows: subtaskView,
    isList: true,
    refuses: [withoutAsOf(), ...moments.refuses, notFound('Task')],
    read: rowsOf,
  }
  return { list }
}
