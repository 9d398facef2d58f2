import { isFinal, pauseMs } from '../feed/attempts.ts'
import { backoffMs, sleep } from '../retries.ts'
import type { Task } from '../schemas.ts'
import type { Transport } from '../transport.ts'
import { type ClaimNext, claimNext, type ClaimOptions, defaultLeaseSeconds } from './claim-next.ts'
import { ClaimedTask, failureOf } from './claimed-task.ts'

/** `signal` aborts when the claim is lost or the worker stops. */
export type Handler = (task: Task, context: { signal: AbortSignal }) => unknown

export interface WorkOptions extends Omit<ClaimNext, 'wait' | keyof ClaimOptions> {
  /** The maximum number of tasks that are in progress at the same time; 1 by default. */
  concurrency?: number
  /** Stops the worker without an error. */
  signal?: AbortSignal
  /** Receives the errors of the handler, and of setting the task to DONE. By default writes errors to the console. */
  onError?: (error: unknown, task: Task) => void
}

const waitSeconds = 25
/** After the stop, a pending claim has this time for its response, so that the worker can release the task. */
const stopGraceMs = 5_000

const report = (error: unknown, { number, title }: Task) =>
  console.error(`The handler failed for task ${number} "${title}":`, error)

/**
 * Claims tasks and runs the handler for each task. If the handler succeeds, sets the task to DONE. If the handler fails,
 * releases the task with `failed`, which counts an attempt. If its signal has aborted, releases the task.
 * @returns when the signal has aborted and all handlers have ended
 * @throws DocketError if the worker may not claim tasks (401, 403, 404), or if an option is invalid (400);
 * RangeError if `concurrency` is not a whole number of at least 1
 */
export async function work(
  transport: Transport,
  projectId: string,
  handler: Handler,
  options: WorkOptions = {},
): Promise<void> {
  const {
    leaseSeconds = defaultLeaseSeconds,
    concurrency = 1,
    signal,
    onError = report,
    ...filters
  } = options
  if (!Number.isInteger(concurrency) || concurrency < 1)
    throw new RangeError(`concurrency must be a whole number of at least 1, not ${concurrency}`)
  const failure = new AbortController()
  const stop = signal ? AbortSignal.any([signal, failure.signal]) : failure.signal
  const claimStop = new AbortController()
  let timer: ReturnType<typeof setTimeout> | undefined
  stop.addEventListener('abort', () => (timer = setTimeout(() => claimStop.abort(stop.reason), stopGraceMs)))
  const claim = async () => {
    const body = { ...filters, leaseSeconds }
    const task = await claimNext(transport, projectId, body, { signal: claimStop.signal })
    if (task || stop.aborted) return task
    return claimNext(transport, projectId, { ...body, wait: waitSeconds }, { signal: stop })
  }
  const run = async (task: Task) => {
    const claimed = new ClaimedTask(transport, task, leaseSeconds * 1_000)
    return runHandler(handler, { task, claimed, stop, onError })
  }
  const slots = Array.from({ length: concurrency }, () =>
    runSlot(claim, run, stop).catch((error: unknown) => failure.abort(error)),
  )
  await Promise.all(slots).finally(() => clearTimeout(timer))
  if (failure.signal.aborted) throw failure.signal.reason
}

/** Works on one task after another. Pauses after a failure, because the next task may be the same task. */
async function runSlot(
  claim: () => Promise<Task | undefined>,
  run: (task: Task) => Promise<boolean>,
  stop: AbortSignal,
): Promise<void> {
  for (let failures = 0; !stop.aborted;) {
    try {
      const task = await claim()
      failures = !task || (await run(task)) ? 0 : failures + 1
      if (!task || failures > 0) await sleep(backoffMs(failures), stop)
    } catch (error) {
      if (stop.aborted) return
      if (isFinal(error)) throw error
      await sleep(pauseMs(error, failures++), stop).catch(() => {})
    }
  }
}

interface Run {
  task: Task
  claimed: ClaimedTask
  stop: AbortSignal
  onError: (error: unknown, task: Task) => void
}

/** Returns true if the task is DONE. */
async function runHandler(handler: Handler, { task, claimed, stop, onError }: Run): Promise<boolean> {
  const signal = AbortSignal.any([stop, claimed.lost])
  let isDone = false
  let failure: ReturnType<typeof failureOf> | undefined
  try {
    stop.throwIfAborted()
    await handler(task, { signal })
    // A handler may return early because its signal has aborted, so its work may be incomplete.
    if (!signal.aborted) await claimed.complete()
    isDone = !signal.aborted
  } catch (error) {
    if (signal.aborted) return false
    failure = failureOf(error)
    onError(error, task)
  } finally {
    if (!isDone) await claimed.release(failure)
  }
  return isDone
}
