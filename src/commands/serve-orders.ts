import { LRUCache } from 'lru-cache'
import type { Scheduler } from '../admission/scheduler.ts'
import type { Turn } from '../admission/turn.ts'
import type { RpcRequest, RpcResponse } from '../routing/rpc.ts'
import type { Log } from '../log.ts'
import { noOrders } from '../metrics/counts.ts'
import { refusalIn } from '../postgres/errors.ts'
import { readTraceparent } from '../tracing/traceparent.ts'
import type { Reply } from '../wire/reply.ts'
import type { Dispatch } from './order.ts'
import type { Perform } from './perform.ts'
import type { Registered, Registry } from './registry.ts'

/** Orders that came again are remembered until their first copies would come too late. */
const mostAgain = 100_000

interface Means {
  registry: Registry
  perform: Perform
  /** Accounts take turns here too: what another process forwards may be the flood of one. */
  scheduler: Scheduler
  /** From then on nothing new is begun: who asks does it. */
  isClosing(): boolean
  /** The time that an order has, from when it was first sent. */
  ttlMs: number
  log: Log
  counts?: ReturnType<typeof noOrders>
}

/**
 * Does what other processes ask of this one as their projects' home. A copy of an order that comes over another connection
 * joins the one under way, which is then one that came again; whichever comes second, it looks into the log first.
 */
export function openServeOrders(means: Means) {
  const { registry, perform, scheduler, isClosing, ttlMs, log, counts = noOrders() } = means
  const underway = new Map<string, { dispatch: Dispatch; done: Promise<Reply> }>()
  const cameAgain = new LRUCache<string, true>({ max: mostAgain, ttl: ttlMs })

  function once({ command }: Registered, dispatch: Dispatch, deadline: number): Promise<Reply> {
    const begun = underway.get(dispatch.id)
    if (begun) {
      begun.dispatch.again ||= dispatch.again
      return begun.done
    }
    if (dispatch.again) cameAgain.set(dispatch.id, true)
    else if (cameAgain.size > 0 && cameAgain.has(dispatch.id)) dispatch.again = true
    const work = (turn: Turn) => perform(command, dispatch, deadline).finally(() => turn.end())
    const turn = scheduler.enter(dispatch.caller.userId, command.weight?.(dispatch.input as never))
    const answer = turn instanceof Promise ? turn.then(work) : work(turn)
    const done = answer.finally(() => underway.delete(dispatch.id))
    underway.set(dispatch.id, { dispatch, done })
    return done
  }

  function serve({ payload, deadline, respond }: RpcRequest): void {
    const dispatch = payload as Dispatch | null
    const known = registry.get(dispatch?.name ?? '')
    const isKnown = known !== undefined && known.form === dispatch?.form
    if (!dispatch || !isKnown || isClosing()) return respond({ kind: 'unknown' })
    counts.served++
    once(known, dispatch, deadline).then(
      ({ status, body, etag, replayed }: Reply & { replayed?: true }) =>
        respond({ kind: 'reply', status, body, etag, ...(replayed && { replayed }) }),
      (error) => respond(refused(log, error, dispatch.traceparent)),
    )
  }

  return (requests: RpcRequest[]): void => requests.forEach(serve)
}

function refused(log: Log, error: unknown, traceparent?: string): RpcResponse {
  const refusal = refusalIn(error)
  if (refusal) {
    const { status, message, headers } = refusal
    return { kind: 'refusal', status, message, headers }
  }
  const trace_id = readTraceparent(traceparent ?? null)?.traceId
  log.error({ err: error, trace_id }, 'an order of another process failed')
  return { kind: 'failed' }
}
