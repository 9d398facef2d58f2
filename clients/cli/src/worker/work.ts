import type { Docket, Task } from '../../../typescript/src/index.ts'
import { ClaimedTask, failureOf } from '../../../typescript/src/work/claimed-task.ts'
import type { Cli } from '../cli.ts'
import { exitCodes, Failure } from '../failure.ts'
import { runCommand } from './child.ts'

interface Work {
  command: string
  leaseSeconds: number
  /** Set the status to DONE after exit code 0. */
  setsDone: boolean
}

/**
 * Runs the command of a claimed task and returns its exit code. After exit code 0, sets the task to DONE. Otherwise
 * releases the task, with `failed` unless a signal has stopped this process.
 * @throws Failure 5 if the claim is lost
 */
export async function work(cli: Cli, docket: Docket, task: Task, { command, leaseSeconds, setsDone }: Work) {
  const claimed = new ClaimedTask(docket.transport, task, leaseSeconds * 1_000)
  let code: number = exitCodes.error
  let isStopped = false
  const unlisten = cli.onSignal(() => void (isStopped = true))
  try {
    code = await runCommand(cli, command, task, claimed.lost)
  } finally {
    unlisten()
    const hasFailed = code !== 0 && !isStopped
    const failure = hasFailed ? failureOf(`The command exited with ${code}`) : undefined
    await (code === 0 && setsDone ? claimed.complete() : claimed.release(failure))
  }
  if (claimed.lost.aborted) throw claimLost(task, claimed.lost.reason)
  return code
}

const claimLost = ({ number }: Task, { cause }: Error) =>
  new Failure(
    `The claim on #${number} has ended too early, so the task was not changed: ${cause instanceof Error ? cause.message : cause}`,
    exitCodes.conflict,
  )
