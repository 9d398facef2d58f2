import type { Query } from '../../src/commands/query.ts'
import type { Module } from '../../src/module.ts'
import { notFound } from '../../src/responses/errors.ts'
import type { Services } from '../../src/services.ts'
import { taskView } from '../tasks/schema.ts'
import { taskCounts, openReadTasks } from './reads.ts'
import { badListQuery, ListTasksQuery } from './list-query.ts'
import { maxScannedTasks } from './list.ts'

export const taskLists: Module = {
  reads: (services) => [
    ['/tasks', taskList(services), 'List tasks'],
    ['/tasks/counts', taskCounts(services), 'Count tasks'],
  ],
}

function taskList(services: Services): Query {
  return {
    about: `Returns the tasks of one project, or of all projects of the caller. Without \`sort\`, the order is oldest first; with a filter by due date, earliest due date first. \`dueBefore\` and \`dueAfter\` are exclusive. Tasks without a due date are last with \`sort=dueDate\`, first with \`-dueDate\`. \`sort=position\` lists one project in the order of its tasks. All filters can be combined. Some filters scan at most ${maxScannedTasks} tasks for a page, so a page before the last may have fewer tasks than \`limit\`.`,
    input: ListTasksQuery,
    view: taskView,
    isList: true,
    errors: [...badListQuery(), ...services.snapshots.errors, notFound('Project')],
    read: openReadTasks(services),
  }
}
