import { Elysia } from 'elysia'
import type { RouteBuilders } from '../../src/http/route-builders.ts'
import type { Services } from '../../src/services.ts'
import { followProjects } from './overview.ts'
import { readManyEvents } from './read-many.ts'

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
