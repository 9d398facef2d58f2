import { Elysia } from 'elysia'
import { accountRoutes } from '../modules/accounts/routes.ts'
import { authRoutes } from '../modules/auth/routes.ts'
import { commentRoutes } from '../modules/comments/routes.ts'
import { memberRoutes } from '../modules/members/routes.ts'
import { projectRoutes } from '../modules/projects/routes.ts'
import { subtaskRoutes } from '../modules/subtasks/routes.ts'
import { openPlaces } from '../modules/tasks/places.ts'
import { taskRoutes } from '../modules/tasks/routes.ts'
import { openWriteAt } from '../modules/tasks/write-at.ts'
import { cors } from './http/cors.ts'
import { docs } from './http/docs.ts'
import { errors } from './http/errors.ts'
import { health } from './http/health.ts'
import { openMethods } from './http/methods.ts'
import { openRequestLog } from './http/request-log.ts'
import type { Services } from './services.ts'

/** The whole service as a function of a request: `app.fetch` runs wherever web standards do. */
export function createApp(services: Services) {
  const places = openPlaces(services.database.reads)
  const writeAt = openWriteAt(services, places)
  const log = openRequestLog(services.log, services.config.logRequests)
  const methods = openMethods()
  const app = new Elysia({ normalize: false })
    .use(errors(log, methods))
    .use(log.plugin())
    .use(cors(services.config.corsOrigins))
    .use(docs())
    .use(health(services))
    .group('/api/v1', (api) =>
      api
        .use(authRoutes(services))
        .use(accountRoutes(services))
        .use(projectRoutes(services))
        .use(memberRoutes(services))
        .use(taskRoutes(services, places, writeAt))
        .use(subtaskRoutes(services, writeAt))
        .use(commentRoutes(services, writeAt)),
    )
  methods.learn(app.routes)
  return app
}
