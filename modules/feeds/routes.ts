import { Elysia } from 'elysia'
import type { Http } from '../../src/http/http.ts'
import type { Services } from '../../src/services.ts'
import { followProjects } from './overview.ts'
import { readManyEvents } from './read-many.ts'

export const feedRoutes = ({ guarded, reading, ask }: Http, services: Services) =>
  new Elysia({ prefix: '/events' })
    .use(new Elysia().use(guarded).get(...ask('', followProjects(services), 'Follow all projects')))
    .use(
      new Elysia()
        .use(reading)
        .post(...ask('/read', readManyEvents(services), 'Read the events of many projects')),
    )
