import { Distribution } from './distribution.ts'

const methods = new Set(['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS'])

/** Answers of one route to one method with one status. */
export interface Answered {
  method: string
  route: string
  status: number
  seconds: Distribution
}

/** Requests by the template of their route, method and status: as many kinds as the service has, whatever is sent. */
export class Requests {
  private readonly cells = new Map<string, Map<string, Map<number, Answered>>>()

  add(route: string, method: string, status: number, began: number | undefined): void {
    const { seconds } = this.cells.get(route)?.get(method)?.get(status) ?? this.open(route, method, status)
    seconds.add(began === undefined ? 0 : (performance.now() - began) / 1_000)
  }

  all(): Answered[] {
    return [...this.cells.values()].flatMap((ofRoute) =>
      [...ofRoute.values()].flatMap((ofMethod) => [...ofMethod.values()]),
    )
  }

  private open(route: string, named: string, status: number): Answered {
    const method = methods.has(named) ? named : 'other'
    const ofRoute = this.cells.get(route) ?? new Map<string, Map<number, Answered>>()
    const ofMethod = ofRoute.get(method) ?? new Map<number, Answered>()
    const cell = ofMethod.get(status) ?? { method, route, status, seconds: new Distribution() }
    this.cells.set(route, ofRoute.set(method, ofMethod.set(status, cell)))
    return cell
  }
}
