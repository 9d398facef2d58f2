import { Elysia } from 'elysia'
import { accountRoutes } from '../modules/accounts/routes.ts'
import { batchRoutes } from '../modules/batch/routes.ts'
import { childList } from '../modules/children/list.ts'
import { comment } from '../modules/comments/entity.ts'
import { commentRoutes } from '../modules/comments/routes.ts'
import { eventReads } from '../modules/events/reads.ts'
import { eventRoutes } from '../modules/events/routes.ts'
import { historyReads } from '../modules/history/reads.ts'
import { historyRoutes } from '../modules/history/routes.ts'
import { feedReads } from '../modules/feeds/reads.ts'
import { feedRoutes } from '../modules/feeds/routes.ts'
import { mailRoutes } from '../modules/mail/routes.ts'
import { member } from '../modules/members/entity.ts'
import { memberRoutes } from '../modules/members/routes.ts'
import { projectReads } from '../modules/projects/reads.ts'
import { projectRoutes } from '../modules/projects/routes.ts'
import { serviceAccountRoutes } from '../modules/service-accounts/routes.ts'
import { subtask } from '../modules/subtasks/entity.ts'
import { subtaskRoutes } from '../modules/subtasks/routes.ts'
import { openSeenTasks } from '../modules/tasks/queries.ts'
import { taskReads } from '../modules/tasks/reads.ts'
import { taskRoutes } from '../modules/tasks/routes.ts'
import { tokenRoutes } from '../modules/tokens/routes.ts'
import { undoRoutes } from '../modules/undo/routes.ts'
import { webhookRoutes } from '../modules/webhooks/routes.ts'
import { cors } from './http/cors.ts'
import { docs } from './http/docs.ts'
import { errors } from './http/errors.ts'
import { health } from './http/health.ts'
import { openHttp } from './http/http.ts'
import { openMethods } from './http/methods.ts'
import { openRequestLog } from './http/request-log.ts'
import { openMeasured } from './metrics/measured.ts'
import type { Services } from './services.ts'
import { openTraced } from './tracing/traced.ts'

const aboutMembers = 'Everyone invited, in that order; the owner is not among them.'

/** The whole service as a function of a request: `app.fetch` runs wherever web standards do. */
export function createApp(services: Services) {
  const { database, guards, versions } = services
  const traced = openTraced(services.tracing)
  const http = openHttp(guards, { ...services, traceparentOf: traced.traceparentOf })
  const seeTask = openSeenTasks(database.reads, versions)
  const { config, counts } = services
  const log = openRequestLog(services.log, config.logRequests, traced.traceIdOf)
  const measured = openMeasured(config.metricsPort > 0 ? counts.requests : undefined)
  const methods = openMethods()
  // Elysia looks for a path behind four letters of a host at least, unless told that it may be called `web`.
  const app = new Elysia({ normalize: false, handler: { standardHostname: false } })
    .use(errors(log, methods, [measured, traced]))
    .use(log.plugin())
    .use(measured.plugin())
    .use(traced.plugin())
    .use(cors(config.corsOrigins))
    .use(docs(config))
    .use(health(services))
    .group('/api/v1', (api) =>
      api
        .use(accountRoutes(http, services))
        .use(mailRoutes(http, services))
        .use(tokenRoutes(http, services))
        .use(projectRoutes(http, projectReads(services)))
        .use(batchRoutes(http))
        .use(undoRoutes(http))
        .use(memberRoutes(http, childList(services, member, services.findRole, aboutMembers)))
        .use(serviceAccountRoutes(http, services))
        .use(eventRoutes(http, eventReads(services)))
        .use(feedRoutes(http, feedReads(services)))
        .use(historyRoutes(http, historyReads(services)))
        .use(webhookRoutes(http, services))
        .use(taskRoutes(http, taskReads(services, seeTask)))
        .use(subtaskRoutes(http, childList(services, subtask, seeTask)))
        .use(commentRoutes(http, childList(services, comment, seeTask))),
    )
  methods.learn(app.routes)
  return app
}
