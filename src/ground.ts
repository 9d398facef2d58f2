import { Scheduler } from './admission/scheduler.ts'
import { openFindPerson } from './reads/people.ts'
import { Recent } from './commit/recent.ts'
import { openFindKept } from './commit/idempotency.ts'
import { Hints } from './followers/hints.ts'
import { openFollowers } from './followers/followers.ts'
import type { Config } from './config.ts'
import { openSharedClock } from './postgres/clock.ts'
import { openDatabase } from './postgres/database.ts'
import { openJobs } from './jobs/queue.ts'
import type { Log } from './log.ts'
import { openCounts } from './metrics/counts.ts'
import { disconnect, openRedis, openSubscriber } from './redis/connections.ts'
import { openOldestKept } from './reads/kept.ts'
import { OwnSteps } from './reads/own-steps.ts'
import { openFindRole } from './reads/role-lookup.ts'
import { openVersions } from './reads/versions.ts'

export type Ground = ReturnType<typeof openGround>

/** What reads and writes both stand on. */
export function openGround(config: Config, log: Log) {
  const counts = openCounts()
  const scheduler = new Scheduler()
  const database = openDatabase(config, counts.queries)
  const clock = openSharedClock(database.chores, log)
  const redis = openRedis(config.redisUrl, log)
  const subscriber = openSubscriber(config.redisUrl, log)
  const jobs = openJobs(config, log)
  const hints = new Hints(redis, subscriber, `${config.redisPrefix}:versions`)
  const webhookHints = new Hints(redis, subscriber, `${config.redisPrefix}:webhooks`)
  const steps = new OwnSteps()
  const versions = openVersions(database.reads, steps, counts.readWaits.versions)
  const followers = openFollowers(database.reads, hints, config, log)
  return {
    ...{ config, counts, database, redis, subscriber, hints, webhookHints, jobs, followers, steps, clock },
    scheduler,
    recent: new Recent((projectId) => followers.countOf(projectId) > 0),
    findKept: openFindKept(database.reads),
    versions,
    findRole: openFindRole(database.reads, versions, counts.caches.roles, counts.readWaits.roles),
    findPerson: openFindPerson(database.reads, config.smtpUrl !== ''),
    oldestKept: openOldestKept(database.reads),
    async close() {
      await clock.close()
      await jobs.close()
      disconnect(redis)
      disconnect(subscriber)
      await database.close()
    },
  }
}
