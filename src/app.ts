import { type AnyElysia, Elysia } from 'elysia'
import { accountRoutes } from '../modules/accounts/routes.ts'
import { batch } from '../modules/commands.ts'
import { events, feedRoutes } from '../modules/events/routes.ts'
import { eventTexts } from '../modules/events/rows.ts'
import { exportRoutes } from '../modules/exports/routes.ts'
import { importRoutes } from '../modules/imports/routes.ts'
import { document as mcpDocument, mcpRoutes } from '../modules/mcp/routes.ts'
import { modules } from '../modules/modules.ts'
import { searches } from '../modules/search/routes.ts'
import { serviceAccountRoutes } from '../modules/service-accounts/routes.ts'
import { taskLists } from '../modules/task-lists/reads.ts'
import { openSeenTasks } from '../modules/tasks/reads.ts'
import { tokenRoutes } from '../modules/tokens/routes.ts'
import { undo } from '../modules/undo/undo.ts'
import { webhookRoutes } from '../modules/webhooks/routes.ts'
import { workQueue, workQueueRoutes } from '../modules/work-queue/routes.ts'
import type { Command } from './commands/command.ts'
import { cors } from './http/cors.ts'
import { docs, prefixLinks } from './http/docs.ts'
import { errors } from './routes/errors.ts'
import { health } from './routes/health.ts'
import { type RouteBuilders, openRouteBuilders } from './routes/route-builders.ts'
import { sentPathRoutes } from './http/sent-paths.ts'
import { Telemetry } from './routes/telemetry.ts'
import type { Module } from './module.ts'
import { openBasePaths } from './proxies.ts'
import type { Services } from './services.ts'

/** Returns the service as a function of a request: `app.fetch` runs on any runtime with web standards. */
export function createApp(services: Services) {
  const { config, scheduler } = services
  const telemetry = new Telemetry(services)
  const routes = openRouteBuilders({ ...services, telemetry })
  const basePaths = openBasePaths(config)
  const mcp = mcpRoutes(routes, services, async (request) => app.fetch(request))
  const serve = { routes: sentPathRoutes((request) => app.fetch(request)) }
  // With `standardHostname`, Elysia misreads the path after a short host such as `web`.
  const app: AnyElysia = new Elysia({ normalize: false, handler: { standardHostname: false }, serve })
    .use(errors(() => app.routes, telemetry, scheduler))
    .use(telemetry.plugin())
    .use(cors(config.corsOrigins))
    .use(prefixLinks(basePaths, config))
    .use(docs(config, basePaths))
    .use(health(services))
    .use(mcp(mcpDocument))
    .group('/api/v1', (api) =>
      api
        .use(accountRoutes(routes, services))
        .use(tokenRoutes(routes, services))
        .use(routesOf([...modules, taskLists, searches, workQueue, batch, undo, events], routes, services))
        .use(serviceAccountRoutes(routes, services))
        .use(workQueueRoutes(routes, services))
        .use(feedRoutes(routes, services))
        .use(webhookRoutes(routes, services))
        .use(exportRoutes(routes, services, eventTexts))
        .use(importRoutes(routes, services))
        .use(mcp({ hide: true })),
    )
  return app
}

function routesOf(all: Module[], routes: RouteBuilders, services: Services) {
  const app = new Elysia().use(routes.callerGuard)
  const seeTask = openSeenTasks(services.database.reads, services.versions)
  for (const { writes = [], reads } of all) {
    for (const [method, path, command, summary] of writes)
      app.route(method.toUpperCase(), ...routes.commandRoute(path, command as Command, summary))
    for (const [path, query, summary] of reads?.(services, seeTask) ?? [])
      app.get(...routes.queryRoute(path, query, summary))
  }
  return app
}
