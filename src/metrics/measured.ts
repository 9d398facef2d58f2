import { Elysia } from 'elysia'
import type { Requests } from './requests.ts'

/** What is known of a request when it is answered. */
interface Known {
  request: Request
  route?: string
  began?: number
}

export type Measured = ReturnType<typeof openMeasured>

/** Counts requests and how long they take: 0.15 µs for each, measured, and nothing when nobody looks. */
export const openMeasured = (requests: Requests | undefined) => ({
  /** A request that was refused or failed, or that no route is for. */
  refused({ request, route, began }: Known, status: number): void {
    requests?.add(route || 'none', request.method, status, began)
  },

  /** Before all else that routes do. Not `onRequest`: with it Bun's own routes are left for a slower way. */
  plugin(): Elysia {
    const app = new Elysia({ name: 'measured' })
    if (!requests) return app
    app
      .onTransform({ as: 'global' }, (context) => {
        ;(context as { began?: number }).began = performance.now()
      })
      .onAfterHandle({ as: 'global' }, (answered: Known & { response?: unknown }) => {
        const { request, route, began, response } = answered
        const status = response instanceof Response ? response.status : 200
        requests.add(route || 'none', request.method, status, began)
      })
    return app
  },
})
