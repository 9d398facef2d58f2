import type { ClaimNext, Docket, Task } from '../../../typescript/src/index.ts'
import { defaultLeaseSeconds } from '../../../typescript/src/work/claim-next.ts'
import { command, json, key, project } from '../command.ts'
import { exitCodes, usageError } from '../failure.ts'
import { readCount } from '../numbers.ts'
import { connect } from '../service/connect.ts'
import { fieldFilters, filtersOf, labelFilters } from '../service/filters.ts'
import { findProject } from '../service/find.ts'
import { printable } from '../terminal/text.ts'
import { work } from '../worker/work.ts'

const [minLeaseSeconds, maxLeaseSeconds] = [10, 86_400]
/** The longest wait of one request. */
const maxWaitSeconds = 25

export const claimNext = command({
  name: 'claim-next',
  about: 'Claim the next ready task, and run a command for it',
  details: `A task is ready if it is not DONE, not claimed and not blocked.
The command of --exec gets the task in DOCKET_TASK_ID, DOCKET_TASK_NUMBER, DOCKET_TASK_TITLE and
DOCKET_TASK (JSON). docket extends the claim while the command runs. If the command exits with 0,
docket sets the task to DONE. Otherwise docket releases the task, counts a failed attempt, and exits
with the same code.`,
  args: {
    ...project,
    exec: {
      type: 'string',
      valueHint: 'command',
      description: 'Run this shell command for the task',
    },
    'keep-status': {
      type: 'boolean',
      description: 'After exit code 0, release the task in place of setting it to DONE',
    },
    lease: {
      type: 'string',
      valueHint: 'seconds',
      description: `How long the claim lasts without an extension; by default ${defaultLeaseSeconds}`,
    },
    wait: { type: 'string', valueHint: 'seconds', description: 'How long to wait for a ready task' },
    'max-attempts': {
      type: 'string',
      valueHint: 'number',
      description: 'Skip tasks that have had this many failed attempts',
    },
    priority: fieldFilters.priority!,
    assignee: fieldFilters.assignee!,
    ...labelFilters,
    ...key,
    ...json,
  },
  examples: [
    `docket claim-next --exec 'echo "$DOCKET_TASK_TITLE"; make'`,
    'docket claim-next --labels build --wait 600 --lease 300 --exec ./build.sh',
    'docket claim-next --json',
  ],
  async run(cli, { project, exec, 'keep-status': keepsStatus, 'max-attempts': max, lease, wait, ...given }) {
    const { key, json, ...filter } = given
    const maxAttempts = max === undefined ? undefined : readCount('max-attempts', max, 1)
    const leaseSeconds =
      lease === undefined ? defaultLeaseSeconds : readCount('lease', lease, minLeaseSeconds, maxLeaseSeconds)
    const waitSeconds = wait === undefined ? 0 : readCount('wait', wait)
    if (exec?.trim() === '') throw usageError('--exec needs a command')
    const docket = await connect(cli)
    const projectId = await findProject(cli, docket, project)
    const filters = await filtersOf({ cli, docket, projectOf: async () => projectId }, filter)
    const task = await claim(
      docket,
      projectId,
      { leaseSeconds, maxAttempts, ...filters },
      { waitSeconds, key },
    )
    if (!task) {
      await cli.err.line('No task is ready')
      return exitCodes.notFound
    }
    if (exec) return work(cli, docket, task, { command: exec, leaseSeconds, setsDone: !keepsStatus })
    if (json) return cli.out.json(task)
    await cli.out.line(
      `Claimed #${task.number} ${printable(task.title)} (${task.id}) until ${task.claim?.until}`,
    )
  },
})

/** Repeats the request until a task is ready or the time of --wait is over. */
async function claim(
  docket: Docket,
  projectId: string,
  body: ClaimNext,
  { waitSeconds, key }: { waitSeconds: number; key: string | undefined },
): Promise<Task | undefined> {
  const end = performance.now() + waitSeconds * 1_000
  for (;;) {
    const wait = Math.min(maxWaitSeconds, Math.ceil((end - performance.now()) / 1_000))
    const request = wait >= 1 ? { ...body, wait } : body
    const task = await docket.project(projectId).claimNext(request, { idempotencyKey: key })
    if (task || performance.now() >= end) return task
  }
}
