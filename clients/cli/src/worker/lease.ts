import { setTimeout as sleep } from 'node:timers/promises'
import { type Docket, DocketError, type Task } from '../../../typescript/src/index.ts'

export interface Lease {
  /** Aborts when the claim is lost; its reason is the error. */
  lost: AbortSignal
  stop(): Promise<void>
}

/** Extends the claim of a task at a third of its length, until `stop`, or until the task is DONE. */
export function keepLease(docket: Docket, task: Task, leaseSeconds: number): Lease {
  const [lost, stopped] = [new AbortController(), new AbortController()]
  const leaseMs = leaseSeconds * 1_000
  const extend = async () => {
    for (let start = performance.now(); ;) {
      await sleep(leaseMs / 3, undefined, { signal: stopped.signal })
      const sentAt = performance.now()
      // At the deadline the claim ends, unless the extension has succeeded.
      const options = { ifClaim: task, deadlineMs: leaseMs - (sentAt - start), signal: stopped.signal }
      await docket.tasks.claim(task.id, { leaseSeconds }, options)
      start = sentAt
    }
  }
  const running = extend().catch(async (error: unknown) => {
    if (!stopped.signal.aborted && !(await isDone(docket, task, error))) lost.abort(error)
  })
  return {
    lost: lost.signal,
    async stop() {
      stopped.abort()
      await running
    },
  }
}

/** Returns true if the work itself has ended the claim, because the task is DONE or deleted. */
export async function isDone(docket: Docket, { id }: Task, error: unknown): Promise<boolean> {
  if (!(error instanceof DocketError) || ![404, 409, 412].includes(error.status)) return false
  try {
    return (await docket.tasks.get(id)).status === 'DONE'
  } catch (failure) {
    return failure instanceof DocketError && failure.status === 404
  }
}
