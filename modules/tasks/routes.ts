import type { Module } from '../../src/module.ts'
import { createTask, deleteTask, unassignTasks, updateTask } from './commands.ts'
import { task } from './entity.ts'
import { taskReads } from './reads.ts'

export const tasks = {
  entity: task,
  writes: [
    ['post', '/tasks', createTask, 'Create a task'],
    ['patch', '/tasks/:id', updateTask, 'Change a task, or move it'],
    ['delete', '/tasks/:id', deleteTask, 'Delete a task'],
  ],
  reads(services, seeTask) {
    const { list, get } = taskReads(services, seeTask)
    return [
      ['/tasks', list, 'List tasks'],
      ['/tasks/:id', get, 'Get a task'],
    ]
  },
  ownWork: [unassignTasks],
} satisfies Module
