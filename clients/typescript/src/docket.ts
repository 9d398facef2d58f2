import { Calls } from './calls/calls.ts'
import { ProjectClient } from './project.ts'
import { openResources } from './resources.ts'
import { Transport, type TransportOptions } from './transport.ts'

/** The resources of the service, such as `tasks` and `projects`. */
export interface Docket extends Readonly<ReturnType<typeof openResources>> {}

/** A client of one service, with the rights of one token. */
export class Docket {
  readonly transport: Transport

  constructor(options: TransportOptions) {
    this.transport = new Transport(options)
    Object.assign(this, openResources(new Calls(this.transport)))
  }

  /** Returns the methods of one project; sends no request. */
  project(id: string): ProjectClient {
    return new ProjectClient(this.transport, id)
  }
}
