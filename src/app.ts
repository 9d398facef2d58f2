import { type AnyElysia, Elysia } from 'elysia'
import { accounts } from '../modules/accounts/routes.ts'
import { batch } from '../modules/commands.ts'
import { events } from '../modules/events/routes.ts'
import { eventTexts } from '../modules/events/rows.ts'
import { exportsOf } from '../modules/exports/routes.ts'
import { imports } from '../modules/imports/routes.ts'
import { mcpRoute } from '../modules/mcp/routes.ts'
import { modules } from '../modules/modules.ts'
import { searches } from '../modules/search/routes.ts'
import { serviceAccounts } from '../modules/service-accounts/routes.ts'
import { taskLists } from '../modules/task-lists/reads.ts'
import { openSeenTasks } from '../modules/tasks/reads.ts'
import { tokens } from '../modules/tokens/routes.ts'
import { undo } from '../modules/undo/undo.ts'
import { webhooks } from '../modules/webhooks/routes.ts'
import { workQueue } from '../modules/work-queue/routes.ts'
import { cors } from './http/cors.ts'
import { docs, prefixLinks } from './http/docs.ts'
import { sentPathRoutes } from './http/sent-paths.ts'
import type { Module } from './module.ts'
import { openBasePaths } from './proxies.ts'
import { openAddRoutes } from './routes/add-routes.ts'
import { errors } from './routes/errors.ts'
import { health } from './routes/health.ts'
import { Telemetry } from './routes/telemetry.ts'
import type { Services } from './services.ts'

/** All modules, in the order of the OpenAPI document. */
const all: Module[] = [
  ...[accounts, tokens, ...modules, taskLists, searches, workQueue, batch, undo, events],
  ...[serviceAccounts, webhooks, exportsOf(eventTexts), imports],
]

/** Returns the service as a function of a request: `app.fetch` runs on any runtime with web standards. */
export function createApp(services: Services) {
  const { config, scheduler } = services
  const telemetry = new Telemetry(services)
  const basePaths = openBasePaths(config)
  const serve = { routes: sentPathRoutes((request) => app.fetch(request)) }
  // With `standardHostname`, Elysia misreads the path after a short host such as `web`.
  const app: AnyElysia = new Elysia({ normalize: false, handler: { standardHostname: false }, serve })
    .use(errors(() => app.routes, telemetry, scheduler))
    .use(telemetry.plugin())
    .use(cors(config.corsOrigins))
    .use(prefixLinks(basePaths, config))
    .use(docs(config, basePaths))
    .use(health(services))
  const routed = { ...services, server: () => app.server }
  const addRoutes = openAddRoutes(routed, app)
  const mcp = mcpRoute(services, async (request) => app.fetch(request))
  addRoutes([['post', '/mcp', mcp]], '')
  const seeTask = openSeenTasks(services.database.reads, services.versions)
  for (const { writes = [], reads, routes } of all) {
    addRoutes(writes)
    for (const [path, query, summary] of reads?.(services, seeTask) ?? [])
      addRoutes([['get', path, query, summary]])
    addRoutes(routes?.(routed) ?? [])
  }
  addRoutes([['post', '/mcp', { ...mcp, detail: { hide: true } }]])
  return app
}
