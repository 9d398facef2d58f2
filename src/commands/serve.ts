import { LRUCache } from 'lru-cache'
import type { Permit } from '../admission/fair-queue.ts'
import type { Scheduler } from '../admission/scheduler.ts'
import { toRefusal } from '../routing/rpc-server.ts'
import type { RpcRequest, RpcResponse } from '../routing/rpc.ts'
import type { Log } from '../logger.ts'
import { newForwardCounts } from '../metrics/counts.ts'
import { toHttpError } from '../postgres/errors.ts'
import { readTraceparent } from '../tracing/tracing.ts'
import type { Reply } from '../responses/reply.ts'
import type { Execute } from './execute.ts'
import type { Registered, Registry } from './registry.ts'
import type { RoutedCommand } from './request.ts'

/**
 * The maximum number of remembered ids of retried commands. An id is remembered for the write timeout, because an original that
 * arrives later has missed its deadline.
 */
const maxRetried = 100_000

interface ServeDependencies {
  registry: Registry
  execute: Execute
  /** Limits each account in this process too, because other processes may forward many commands of one account. */
  scheduler: Scheduler
  isClosing(): boolean
  ttlMs: number
  log: Log
  counts?: ReturnType<typeof newForwardCounts>
}

/**
 * Executes commands that other processes send to this home. Copies of a command in progress share one reply. A copy
 * that arrives later is decided only after a search of the log, even if the retry arrived before the original.
 */
export function openServe(dependencies: ServeDependencies) {
  const { registry, execute, scheduler, isClosing, ttlMs, log, counts = newForwardCounts() } = dependencies
  const inProgressById = new Map<string, { routed: RoutedCommand; done: Promise<Reply> }>()
  const retried = new LRUCache<string, true>({ max: maxRetried, ttl: ttlMs })

  function executeOnce({ command }: Registered, routed: RoutedCommand, deadline: number): Promise<Reply> {
    const inProgress = inProgressById.get(routed.id)
    if (inProgress) {
      inProgress.routed.again ||= routed.again
      return inProgress.done
    }
    if (routed.again) retried.set(routed.id, true)
    else if (retried.size > 0 && retried.has(routed.id)) routed.again = true
    const work = (permit: Permit) => execute(command, routed, deadline).finally(() => permit.release())
    const permit = scheduler.acquire(routed.caller.userId, command.weight?.(routed.input as never))
    const answer = permit instanceof Promise ? permit.then(work) : work(permit)
    const done = answer.finally(() => inProgressById.delete(routed.id))
    inProgressById.set(routed.id, { routed, done })
    return done
  }

  function serve({ payload, deadline, respond }: RpcRequest): void {
    const routed = payload as RoutedCommand | null
    const registered = registry.get(routed?.name ?? '')
    const isKnown = registered !== undefined && registered.form === routed?.form
    if (!routed || !isKnown || isClosing()) return respond({ kind: 'unknown' })
    counts.served++
    executeOnce(registered, routed, deadline).then(
      (reply) => respond({ kind: 'reply', ...reply }),
      (error) => respond(errorResponse(log, error, routed.traceparent)),
    )
  }

  return (requests: RpcRequest[]): void => requests.forEach(serve)
}

function errorResponse(log: Log, error: unknown, traceparent?: string): RpcResponse {
  const httpError = toHttpError(error)
  if (httpError) return toRefusal(httpError)
  const trace_id = readTraceparent(traceparent ?? null)?.traceId
  log.error({ err: error, trace_id }, 'a command from another process failed')
  return { kind: 'failed' }
}
