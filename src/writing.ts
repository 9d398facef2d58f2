import type { React } from './log/rule.ts'
import type { Command } from './commands/command.ts'
import { openCompany } from './commands/company.ts'
import { openLookUp } from './commands/look-up.ts'
import { openPerform } from './commands/perform.ts'
import { registryOf } from './commands/registry.ts'
import { openPlaces } from './commands/places.ts'
import { openNaming } from './commands/naming.ts'
import { openReadPast } from './log/read-past.ts'
import { openRun } from './commands/run.ts'
import { Actors } from './actor/actors.ts'
import { openCommit, type Unit } from './commit/commit.ts'
import { movedBy } from './commit/moved.ts'
import { Leases } from './lock/leases.ts'
import { openFindLanded } from './actor/landed.ts'
import { openLoader } from './actor/load.ts'
import type { Log } from './log.ts'
import { withSpans } from './tracing/parts.ts'
import type { Tracing } from './tracing/tracing.ts'
import type { Ground } from './ground.ts'

/** What the service is about: what may be done, and what work a committed fact asks for. */
export interface Domain {
  commands: Command<never>[]
  react: React
}

/** The way of every write: to its project's home, and there through its actor. */
export function openWriting(ground: Ground, domain: Domain, log: Log, tracing?: Tracing) {
  const { config, counts, database, redis, scheduler } = ground
  const actors = openActors(ground, domain.react)
  const registry = registryOf(domain.commands)
  const places = openPlaces(database.reads, counts.caches.places)
  const lookUp = openLookUp(ground.findPerson, places)
  const performing = openPerform({ actors, findRole: ground.findRole, lookUp, limits: config, log })
  const named = openNaming(database.reads, performing)
  const perform = withSpans(named, tracing)
  const isClosing = () => actors.isClosing
  const means = { config, redis, registry, perform, scheduler, isClosing, log }
  const company = openCompany({ ...means, counts: counts.orders })
  return {
    actors,
    run: openRun({ registry, places, deliver: company.deliver, timeoutMs: config.writeTimeoutMs }),
    async join(asHome: boolean) {
      await ground.clock.known
      await company.join(asHome)
    },
    async close() {
      await company.leave(config.drainTimeoutMs / 4)
      await actors.close(config.drainTimeoutMs / 2)
      await company.close()
    },
  }
}

function openActors(
  { config, counts, database, redis, subscriber, hints, recent, steps, jobs, ...ground }: Ground,
  react: React,
): Actors {
  const { commitSlots: slots, commitEvents: events, commitShapes: shapes, writeTimeoutMs: timeoutMs } = config
  const commit = openCommit(database.commits, { slots, events, shapes, timeoutMs }, counts.commits)
  const by = {
    loader: openLoader(database.reads),
    findLanded: openFindLanded(database.reads),
    versions: ground.versions,
    commit,
    findKept: ground.findKept,
    readPast: openReadPast({ sql: database.reads, ...ground }),
    react,
    counts: counts.caches.states,
    onCommitted(unit: Unit) {
      recent.add(unit)
      steps.add(unit)
      hints.tell(movedBy(unit))
      if (unit.jobs.length > 0) jobs.handOver(unit.jobs)
    },
  }
  return new Actors(by, new Leases(redis, subscriber, config, counts.leases), config)
}
