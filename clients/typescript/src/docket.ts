import { Calls } from './calls/calls.ts'
import { ProjectClient } from './project.ts'
import { openProjects } from './resources/projects.ts'
import { openTasks } from './resources/tasks.ts'
import { Transport, type TransportOptions } from './transport.ts'

/** A client of one service, with the rights of one token. */
export class Docket {
  readonly transport: Transport
  readonly projects: ReturnType<typeof openProjects>
  readonly tasks: ReturnType<typeof openTasks>

  constructor(options: TransportOptions) {
    this.transport = new Transport(options)
    const calls = new Calls(this.transport)
    this.projects = openProjects(calls)
    this.tasks = openTasks(calls)
  }

  /** Returns the methods of one project; sends no request. */
  project(id: string): ProjectClient {
    return new ProjectClient(this.transport, id)
  }
}
