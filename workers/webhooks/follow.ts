import type { Moved } from '../../src/followers/hints.ts'
import { batched } from '../../src/postgres/batch.ts'
import { repeatedly } from '../../src/repeatedly.ts'
import type { Services } from '../../src/services.ts'
import { Known } from './known.ts'
import { Work } from './work.ts'

const lookEveryMs = 1_000
/** Well within a lease: see begin-turns.ts. */
const renewEveryMs = 750

/**
 * Follows the log for all webhooks: woken by hints, and by a look at what is due now and then, for a hint may be lost
 * and a time come. Answers how to stop: what is being sent is waited for a while, and then given back.
 */
export function followForWebhooks(services: Services): () => Promise<void> {
  const { config, database, hints, log, webhookHints } = services
  const known = new Known(database.chores)
  const work = new Work(services)
  const lookSoon = batched({ keys: 500, slots: 1 }, async (ids: string[]) => {
    work.wake(await known.lookAt(ids))
    return ids
  })
  const stops = [
    repeatedly(async () => work.wake(await known.look()), lookEveryMs, log),
    repeatedly(() => work.renew(), renewEveryMs, log),
    hints.listen(({ projectId }: Moved) => work.hint(known.of(projectId))),
    webhookHints.listen(({ projectId }: Moved) => void lookSoon(projectId).catch(() => {})),
  ]
  return async () => {
    work.stop()
    await Promise.all(stops.map((stop) => stop()))
    await work.end(config.drainTimeoutMs / 2)
  }
}
