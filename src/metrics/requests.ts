import { Distribution } from './distribution.ts'
import type { Labelled } from './family.ts'

const methods = new Set(['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS'])

/** Times of requests by route template, method and status, so clients cannot make up a kind. */
export class RequestDurations {
  private readonly kinds = new Map<string, Labelled<Distribution>>()

  add(route: string, named: string, status: number, began = performance.now()): void {
    const method = methods.has(named) ? named : 'other'
    const name = `${status} ${method} ${route}`
    let kind = this.kinds.get(name)
    if (!kind) this.kinds.set(name, (kind = [{ method, route, status: String(status) }, new Distribution()]))
    kind[1].addSince(began)
  }

  all = (): Labelled<Distribution>[] => [...this.kinds.values()]
}
