import type { Module } from '../../src/module.ts'
import { createTask, deleteTask, updateTask, upsertTask, appendToTask } from './commands.ts'
import { task } from './entity.ts'
import { getTask } from './reads.ts'

export const tasks = {
  entity: task,
  writes: [
    ['post', '/tasks', createTask, 'Create a task'],
    ['patch', '/tasks/:id', updateTask, 'Change a task, or move it'],
    [
      'put',
      '/projects/:id/tasks/external/:externalId',
      upsertTask,
      'Create or change a task by its external id',
    ],
    ['post', '/tasks/:id/append', appendToTask, 'Add a text to the description'],
    ['delete', '/tasks/:id', deleteTask, 'Delete a task'],
  ],
  reads: (services, seeTask) => [['/tasks/:id', getTask(services, seeTask), 'Get a task']],
} satisfies Module
