import { Distribution, type Labelled } from './family.ts'

const methods = new Set(['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS'])

/** All labels have fixed values, so that clients cannot add series. */
export class RequestDurations {
  private readonly series = new Map<string, Labelled<Distribution>>()

  add(route: string, givenMethod: string, status: number, startedAt = performance.now()): void {
    const method = methods.has(givenMethod) ? givenMethod : 'other'
    const name = `${status} ${method} ${route}`
    let entry = this.series.get(name)
    if (!entry)
      this.series.set(name, (entry = [{ method, route, status: String(status) }, new Distribution()]))
    entry[1].addSince(startedAt)
  }

  all = (): Labelled<Distribution>[] => [...this.series.values()]
}
