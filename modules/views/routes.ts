import type { Module } from '../../src/module.ts'
import { childList } from '../children/list.ts'
import { createView, deleteView, updateView } from './saved-views.ts'
import { taskListView } from './entity.ts'
import { viewTasks } from './reads.ts'

export const views = {
  entity: taskListView,
  writes: [
    ['post', '/projects/:id/views', createView, 'Create a view'],
    ['patch', '/views/:id', updateView, 'Change a view'],
    ['delete', '/views/:id', deleteView, 'Delete a view'],
  ],
  reads: (services) => [
    [
      '/projects/:id/views',
      childList(services, taskListView, services.findRole),
      'List the views of a project',
    ],
    ['/views/:id/tasks', viewTasks(services), 'List the tasks of a view'],
  ],
} satisfies Module
