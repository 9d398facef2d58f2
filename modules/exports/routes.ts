import { Elysia } from 'elysia'
import type { RouteBuilders } from '../../src/http/route-builders.ts'
import type { Services } from '../../src/services.ts'
import { exportAccount } from './export-account.ts'
import { exportProject } from './export-project.ts'
import { openExportsInProgress } from './in-progress.ts'

export function exportRoutes({ callerGuard, queryRoute }: RouteBuilders, services: Services) {
  const inProgress = openExportsInProgress()
  return (
    new Elysia()
      .use(callerGuard)
      .get(...queryRoute('/projects/:id/export', exportProject(services, inProgress), 'Export a project'))
      // Elysia adds the server to the context only for a function that names it.
      .derive(({ server }) => ({ listener: server }))
      .get(...queryRoute('/export', exportAccount(services, inProgress), 'Export all my data'))
  )
}
