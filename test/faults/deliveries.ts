import { until } from '../../src/local/wait.ts'
import type { Caller } from './caller.ts'
import type { Sent } from './check-deliveries.ts'
import { digest } from './check-lists.ts'
import type { Violation } from './history.ts'
import type { keepHooks } from './hooks.ts'
import type { Stand } from './stand.ts'
import type { KnownProject } from './world.ts'

const deliveryTimeoutMs = 90_000
const page = 200

interface Behind {
  id: string
}
type Keeper = Awaited<ReturnType<typeof keepHooks>>

/** Lets webhooks have what is due to them, from receivers who behave by now, and reads the feeds beside it. */
export async function finishDeliveries(keeper: Keeper, { receivers, postgres }: Stand, caller: Caller) {
  const violations: Violation[] = []
  await keeper.stop()
  receivers.be('kind')
  const began = performance.now()
  const { all, flaws } = keeper.hooks
  const known = all.filter((hook) => hook.known && !hook.isGone)
  await Promise.all(known.map(keeper.hasten))
  let left: Behind[] = []
  const areDone = async () => {
    // Jobs write events too.
    const owed = await postgres.ask((sql) => sql`select from outbox limit 1`)
    const behind = await postgres.ask(
      (sql) =>
        sql<Behind[]>`select w.id, w.url, w.cursor, s.version, w.failures, w.next_at, w.disabled_reason
          from webhooks w join streams s using (project_id) where w.cursor < s.version`,
    )
    left = behind
    if (behind.length === 0) return owed.length === 0 || undefined
    const slow = new Set(behind.map(({ id }) => id))
    await Promise.all(known.filter((hook) => slow.has(hook.known!.id)).map(keeper.hurry))
    return undefined
  }
  const areAll = await until(areDone, deliveryTimeoutMs, { everyMs: 300 })
  const deliveredMs = areAll && performance.now() - began
  if (!areAll) violations.push({ check: 'webhooks get all in the end', detail: JSON.stringify(left) })
  const projects = [...new Set(known.map(({ project }) => project))].filter(({ lasts }) => lasts)
  const feeds = new Map<string, string[]>()
  for (const project of projects) feeds.set(project.id, await readFeed(caller, project))
  violations.push(...flaws.map((detail) => ({ check: 'every delivery is signed', detail })))
  return { violations, deliveredMs, sent: { hooks: all, received: receivers.received, feeds } satisfies Sent }
}

async function readFeed(caller: Caller, { id, owner }: KnownProject): Promise<string[]> {
  const events: string[] = []
  for (;;) {
    const path = `/projects/${id}/events?after=${events.length}&limit=${page}`
    const { status, text } = await caller.ask({ method: 'GET', path, caller: owner })
    if (status !== 200) throw new Error(`GET ${path} answered ${status} ${text}`)
    const found = JSON.parse(text) as object[]
    events.push(...found.map((event) => digest(JSON.stringify(event))))
    if (found.length === 0) return events
  }
}
