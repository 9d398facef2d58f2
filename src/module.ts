import type { Command } from './commands/command.ts'
import type { Query } from './commands/query.ts'
import type { Entity } from './model/entities.ts'
import type { LookUp } from './reads/lookups.ts'
import type { Versioned } from './reads/versions.ts'
import type { Route } from './routes/add-routes.ts'
import type { RouteServices } from './routes/guards.ts'
import type { Services } from './services.ts'

type Write = readonly [
  method: 'post' | 'put' | 'patch' | 'delete',
  path: string,
  command: Command<never>,
  summary: string,
]
type Read = readonly [path: string, query: Query, summary: string]

export interface Module {
  entity?: { name: Entity }
  writes?: readonly Write[]
  reads?(services: Services, seeTask: LookUp<Versioned & { eventId: string }>): Read[]
  /** The routes that are neither a `get` nor a plain command. */
  routes?(services: RouteServices): Route[]
}

export const commandsOf = (modules: Module[]): Command<never>[] =>
  modules.flatMap(({ writes = [] }) => writes.map(([, , command]) => command))
