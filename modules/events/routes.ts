import { Elysia } from 'elysia'
import type { RouteBuilders } from '../../src/http/route-builders.ts'
import type { Module } from '../../src/module.ts'
import type { Services } from '../../src/services.ts'
import { followProjects } from './follow-projects.ts'
import { projectHistory } from './project-history.ts'
import { readManyEvents } from './read-many.ts'
import { listEvents } from './reads.ts'
import { taskHistory } from './task-history.ts'

export const events: Module = {
  reads: (services) => [
    ['/projects/:id/events', listEvents(services), 'List events'],
    ['/projects/:id/history', projectHistory(services), "Read a project's history"],
    ['/tasks/:id/history', taskHistory(services), "Read a task's history"],
  ],
}

export const feedRoutes = ({ callerGuard, readGuard, queryRoute }: RouteBuilders, services: Services) =>
  new Elysia({ prefix: '/events' })
    .use(
      new Elysia().use(callerGuard).get(...queryRoute('', followProjects(services), 'Follow all projects')),
    )
    .use(
      new Elysia()
        .use(readGuard)
        .post(...queryRoute('/read', readManyEvents(services), 'Read the events of many projects')),
    )
