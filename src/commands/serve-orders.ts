import { LRUCache } from 'lru-cache'
import type { Answer, Ask } from '../channel/protocol.ts'
import type { Log } from '../log.ts'
import { Refusal } from '../wire/refusals.ts'
import type { Reply } from '../wire/reply.ts'
import type { Dispatch } from './order.ts'
import type { Perform } from './perform.ts'
import type { Registry } from './registry.ts'

/** Orders that came again are remembered until their first copies would come too late. */
const mostAgain = 100_000

/**
 * Does what other processes ask of this one as their projects' home. A copy of an order that comes over another connection
 * joins the one under way; whichever comes second, it looks into the log first.
 */
export function openServeOrders(registry: Registry, perform: Perform, ttlMs: number, log: Log) {
  const underway = new Map<string, Promise<Reply>>()
  const cameAgain = new LRUCache<string, true>({ max: mostAgain, ttl: ttlMs })

  function once(dispatch: Dispatch, deadline: number): Promise<Reply> | undefined {
    const known = registry.get(dispatch.name)
    if (known?.form !== dispatch.form) return undefined
    const begun = underway.get(dispatch.id)
    if (begun) return begun
    if (dispatch.again) cameAgain.set(dispatch.id, true)
    else if (cameAgain.size > 0 && cameAgain.has(dispatch.id)) dispatch.again = true
    const done = perform(known!.command, dispatch, deadline).finally(() => underway.delete(dispatch.id))
    underway.set(dispatch.id, done)
    return done
  }

  async function answerOf({ payload, deadline }: Ask): Promise<Answer> {
    try {
      const reply = await once(payload as Dispatch, deadline)
      return reply ? { kind: 'reply', ...reply } : { kind: 'unknown' }
    } catch (error) {
      if (error instanceof Refusal) {
        const { status, message, headers } = error
        return { kind: 'refusal', status, message, headers }
      }
      log.error({ err: error }, 'an order of another process failed')
      return { kind: 'failed' }
    }
  }

  return (asks: Ask[]): void => {
    for (const ask of asks) void answerOf(ask).then(ask.answer)
  }
}
