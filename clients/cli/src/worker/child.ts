import { spawn } from 'node:child_process'
import { constants } from 'node:os'
import type { Task } from '../../../typescript/src/index.ts'
import type { Cli } from '../cli.ts'

/** Below the limit of Linux, which is 128 KiB for one variable. */
const maxVariableBytes = 100_000
/** The time between SIGTERM and SIGKILL for a command whose claim is lost. */
const graceMs = 5_000

/** Returns the environment variables of the command. */
function variablesOf(task: Task): Record<string, string> {
  const whole = JSON.stringify(task)
  const isLong = Buffer.byteLength(whole) > maxVariableBytes
  return {
    DOCKET_PROJECT: task.projectId,
    DOCKET_TASK_ID: task.id,
    DOCKET_TASK_NUMBER: String(task.number),
    DOCKET_TASK_TITLE: task.title,
    DOCKET_TASK_PRIORITY: task.priority,
    DOCKET_TASK_DUE: task.dueDate ?? '',
    DOCKET_CLAIM_SEQ: String(task.claim?.seq ?? ''),
    DOCKET_TASK: isLong ? JSON.stringify({ ...task, description: null, fields: {} }) : whole,
  }
}

/**
 * Runs a shell command and returns its exit code, or 128 + the number of the signal that ended the command. Forwards the
 * signals of this process. If `lost` aborts, sends SIGTERM, and later SIGKILL.
 * @throws Error if there is no shell
 */
export function runCommand(cli: Cli, line: string, task: Task, lost: AbortSignal): Promise<number> {
  // On a terminal, the command stays in the foreground process group. So it can read the keyboard, and gets Ctrl-C itself.
  const isForeground = cli.input.isTTY === true
  const child = spawn(line, {
    shell: true,
    stdio: 'inherit',
    detached: !isForeground && process.platform !== 'win32',
    env: { ...cli.env, ...variablesOf(task) },
  })
  const send = (name: NodeJS.Signals) => {
    if (child.pid === undefined) return
    try {
      process.kill(isForeground || process.platform === 'win32' ? child.pid : -child.pid, name)
    } catch {
      // The command has ended.
    }
  }
  const unlisten = cli.onSignal((name) => {
    if (!isForeground || name !== 'SIGINT') send(name)
  })
  let killer: NodeJS.Timeout | undefined
  const end = () => {
    send('SIGTERM')
    killer = setTimeout(() => send('SIGKILL'), graceMs)
  }
  lost.addEventListener('abort', end)
  return new Promise<number>((resolve, reject) => {
    child.once('error', reject)
    child.once('close', (code, signal) => resolve(code ?? 128 + constants.signals[signal!]))
  }).finally(() => {
    clearTimeout(killer)
    lost.removeEventListener('abort', end)
    unlisten()
  })
}
