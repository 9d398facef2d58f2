import { type Docket, DocketError, type Task } from '../../../typescript/src/index.ts'
import type { Cli } from '../cli.ts'
import { exitCodes, Failure } from '../failure.ts'
import { runCommand } from './child.ts'
import { isDone, keepLease } from './lease.ts'

interface Work {
  command: string
  leaseSeconds: number
  /** Set the status to DONE after exit code 0. */
  setsDone: boolean
}

/**
 * Runs the command of a claimed task and returns its exit code. After exit code 0 the task is DONE, otherwise it is
 * released.
 * @throws Failure 5 if the claim is lost
 */
export async function work(cli: Cli, docket: Docket, task: Task, { command, leaseSeconds, setsDone }: Work) {
  const lease = keepLease(docket, task, leaseSeconds)
  let code: number = exitCodes.error
  try {
    code = await runCommand(cli, command, task, lease.lost)
    await lease.stop()
    if (lease.lost.aborted) throw claimLost(task, lease.lost.reason)
    if (code === 0 && setsDone) await setDone(docket, task)
  } finally {
    await lease.stop()
    if ((code !== 0 || !setsDone) && !lease.lost.aborted) await release(docket, task)
  }
  return code
}

async function setDone(docket: Docket, task: Task): Promise<void> {
  try {
    await docket.tasks.update(task.id, { status: 'DONE' }, { ifClaim: task })
  } catch (error) {
    if (!(await isDone(docket, task, error))) throw isEnded(error) ? claimLost(task, error) : error
  }
}

/** A claim that has ended needs no release. */
async function release(docket: Docket, task: Task): Promise<void> {
  await docket.tasks.release(task.id, { ifClaim: task }).catch((error: unknown) => {
    if (!isEnded(error)) throw error
  })
}

const isEnded = (error: unknown) => error instanceof DocketError && [404, 409, 412].includes(error.status)

const claimLost = ({ number }: Task, error: unknown) =>
  new Failure(
    `The claim on #${number} is lost, so the task was not changed: ${error instanceof Error ? error.message : error}`,
    exitCodes.conflict,
  )
