import type { Moved } from '../../src/followers/hints.ts'
import { batched } from '../../src/postgres/batch.ts'
import { repeatedly } from '../../src/repeatedly.ts'
import type { Services } from '../../src/services.ts'
import { Known } from './known.ts'
import { Work } from './work.ts'

const lookEveryMs = 1_000
/** Well within a lease of 5 s. */
const renewEveryMs = 750

/** Delivers to all webhooks: woken by hints, which may be lost, and by a search each second. Returns how to stop. */
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
