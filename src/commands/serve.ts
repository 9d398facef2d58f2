import { LRUCache } from 'lru-cache'
import type { Scheduler, Turn } from '../admission/scheduler.ts'
import type { RpcRequest, RpcResponse } from '../routing/rpc.ts'
import type { Log } from '../log.ts'
import { noOrders } from '../metrics/counts.ts'
import { toHttpError } from '../postgres/errors.ts'
import { readTraceparent } from '../tracing/traceparent.ts'
import type { Reply } from '../responses/reply.ts'
import type { Execute } from './execute.ts'
import type { Registered, Registry } from './registry.ts'
import type { RoutedCommand } from './request.ts'

/** Retried commands are remembered until their first copies would come too late. */
const maxRetried = 100_000

interface Means {
  registry: Registry
  execute: Execute
  /** Accounts take turns here too: what another process forwards may be the flood of one. */
  scheduler: Scheduler
  isClosing(): boolean
  ttlMs: number
  log: Log
  counts?: ReturnType<typeof noOrders>
}

/**
 * Executes the commands that other processes send to this one as the home of their projects. A copy of a command that
 * comes over another connection joins the one under way, which then counts as retried; whichever copy comes second, the
 * log is searched first.
 */
export function openServe(means: Means) {
  const { registry, execute, scheduler, isClosing, ttlMs, log, counts = noOrders() } = means
  const underway = new Map<string, { routed: RoutedCommand; done: Promise<Reply> }>()
  const retried = new LRUCache<string, true>({ max: maxRetried, ttl: ttlMs })

  function once({ command }: Registered, routed: RoutedCommand, deadline: number): Promise<Reply> {
    const begun = underway.get(routed.id)
    if (begun) {
      begun.routed.again ||= routed.again
      return begun.done
    }
    if (routed.again) retried.set(routed.id, true)
    else if (retried.size > 0 && retried.has(routed.id)) routed.again = true
    const work = (turn: Turn) => execute(command, routed, deadline).finally(() => turn.end())
    const turn = scheduler.enter(routed.caller.userId, command.weight?.(routed.input as never))
    const answer = turn instanceof Promise ? turn.then(work) : work(turn)
    const done = answer.finally(() => underway.delete(routed.id))
    underway.set(routed.id, { routed, done })
    return done
  }

  function serve({ payload, deadline, respond }: RpcRequest): void {
    const routed = payload as RoutedCommand | null
    const known = registry.get(routed?.name ?? '')
    const isKnown = known !== undefined && known.form === routed?.form
    if (!routed || !isKnown || isClosing()) return respond({ kind: 'unknown' })
    counts.served++
    once(known, routed, deadline).then(
      (reply) => respond({ kind: 'reply', ...reply }),
      (error) => respond(refused(log, error, routed.traceparent)),
    )
  }

  return (requests: RpcRequest[]): void => requests.forEach(serve)
}

function refused(log: Log, error: unknown, traceparent?: string): RpcResponse {
  const refusal = toHttpError(error)
  if (refusal) {
    const { status, message, headers } = refusal
    return { kind: 'refusal', status, message, headers }
  }
  const trace_id = readTraceparent(traceparent ?? null)?.traceId
  log.error({ err: error, trace_id }, 'a command of another process failed')
  return { kind: 'failed' }
}
