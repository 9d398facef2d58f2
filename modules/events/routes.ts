import type { Module } from '../../src/module.ts'
import { projectHistory } from './project-history.ts'
import { listEvents } from './reads.ts'
import { taskHistory } from './task-history.ts'

export const events: Module = {
  reads: (services) => [
    ['/projects/:id/events', listEvents(services), 'List events'],
    ['/projects/:id/history', projectHistory(services), "Read a project's history"],
    ['/tasks/:id/history', taskHistory(services), "Read a task's history"],
  ],
}
