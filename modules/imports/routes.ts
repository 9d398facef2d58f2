import { Elysia } from 'elysia'
import { admitFirst, guarded } from '../../src/http/guards.ts'
import type { RouteBuilders } from '../../src/http/route-builders.ts'
import type { Services } from '../../src/services.ts'
import { openRequireImport } from './access.ts'
import { openCancelImport } from './cancel.ts'
import { cancelHooks, startHooks, undoHooks } from './hooks.ts'
import { getImport, listImports, listReport } from './reads.ts'
import { openFindImport } from './rows.ts'
import { openUndoImport } from './undo.ts'
import { openStartImport } from './upload/start.ts'

export function importRoutes({ callerGuard, uploadGuard, queryRoute }: RouteBuilders, services: Services) {
  const findImport = openFindImport(services.database.reads)
  const requireImport = openRequireImport(services.findRole, findImport)
  const start = guarded(openStartImport(services), { hasQuery: true })
  const cancel = guarded(openCancelImport(services, requireImport))
  const undo = guarded(openUndoImport({ services, requireImport, findImport }))
  const uploads = new Elysia()
    .use(uploadGuard)
    .post('/projects/:id/imports', start as never, { ...startHooks(services.config), transform: admitFirst })
  return new Elysia().use(uploads).use(
    new Elysia()
      .use(callerGuard)
      .get(...queryRoute('/projects/:id/imports', listImports(services), 'List the imports of a project'))
      .get(...queryRoute('/imports/:id', getImport(requireImport), 'Get an import'))
      .get(
        ...queryRoute(
          '/imports/:id/report',
          listReport(services, requireImport),
          'Read the report of an import',
        ),
      )
      .delete('/imports/:id', cancel as never, cancelHooks)
      .post('/imports/:id/undo', undo as never, undoHooks),
  )
}
