import { Calls } from './calls/calls.ts'
import { ProjectClient } from './project.ts'
import { openAccount } from './resources/account.ts'
import { openChildren } from './resources/children.ts'
import { openEvents } from './resources/events.ts'
import { openImports } from './resources/imports.ts'
import { openServiceAccounts, openTokens, openWebhooks } from './resources/integrations.ts'
import { openFields, openLabels, openMembers, openViews } from './resources/project-parts.ts'
import { openProjects } from './resources/projects.ts'
import { openSearch, openTasks } from './resources/tasks.ts'
import { Transport, type TransportOptions } from './transport.ts'

/** The children of tasks: `subtasks` and `comments`. */
export interface Docket extends Readonly<ReturnType<typeof openChildren>> {}

/** A client of one service, with the rights of one token. */
export class Docket {
  readonly transport: Transport
  readonly account: ReturnType<typeof openAccount>
  readonly projects: ReturnType<typeof openProjects>
  readonly members: ReturnType<typeof openMembers>
  readonly tasks: ReturnType<typeof openTasks>
  readonly labels: ReturnType<typeof openLabels>
  readonly fields: ReturnType<typeof openFields>
  readonly views: ReturnType<typeof openViews>
  readonly events: ReturnType<typeof openEvents>
  readonly webhooks: ReturnType<typeof openWebhooks>
  readonly serviceAccounts: ReturnType<typeof openServiceAccounts>
  readonly tokens: ReturnType<typeof openTokens>
  /** Files of other systems that become tasks. */
  readonly imports: ReturnType<typeof openImports>
  /** Finds tasks, comments and projects by their words, ids and numbers. */
  readonly search: ReturnType<typeof openSearch>

  constructor(options: TransportOptions) {
    this.transport = new Transport(options)
    const calls = new Calls(this.transport)
    this.account = openAccount(calls)
    this.projects = openProjects(calls)
    this.members = openMembers(calls)
    this.tasks = openTasks(calls)
    Object.assign(this, openChildren(calls))
    this.labels = openLabels(calls)
    this.fields = openFields(calls)
    this.views = openViews(calls)
    this.events = openEvents(calls)
    this.webhooks = openWebhooks(calls)
    this.serviceAccounts = openServiceAccounts(calls)
    this.tokens = openTokens(calls)
    this.imports = openImports(calls)
    this.search = openSearch(calls)
  }

  /** Returns the methods of one project; sends no request. */
  project(id: string): ProjectClient {
    return new ProjectClient(this.transport, id)
  }
}
