import { setTimeout as sleep } from 'node:timers/promises'
import type { ReadRequest } from '../../src/commands/query.ts'
import type { Caller } from '../../src/identity/rights.ts'
import type { Module } from '../../src/module.ts'
import { requireVisible } from '../../src/reads/lookups.ts'
import type { Reply } from '../../src/responses/reply.ts'
import type { Services } from '../../src/services.ts'
import { openLongPoll } from '../events/long-poll.ts'
import { claimNextTask, claimTask, releaseTask } from './commands.ts'

export const workQueue: Module = {
  writes: [
    ['post', '/tasks/:id/claim', claimTask, 'Claim a task, or extend the claim'],
    ['post', '/tasks/:id/release', releaseTask, 'Release a claimed task'],
  ],
  routes(services) {
    const hooks = { repeat: openUntilReady(services) }
    return [['post', '/projects/:id/claim-next', claimNextTask, 'Claim the next ready task', hooks]]
  },
}

/** The longest pause between two attempts of one request: most changes of a busy project make no task ready. */
const maxPauseMs = 200

const pauseAfter = (attempts: number) => sleep(Math.min(maxPauseMs, 2 ** attempts))

/** With `wait` in the body, claims again after each change of the project, until a task is ready or the time is over. */
function openUntilReady(services: Pick<Services, 'authenticate' | 'findRole' | 'subscriptions'>) {
  const longPoll = openLongPoll(services)
  return async (context: ReadRequest, write: (caller: Caller) => Promise<Reply>): Promise<Reply> => {
    const { request, caller, body, params } = context
    const { wait } = body as { wait?: number }
    if (wait === undefined) return write(caller)
    let attempts = 0
    const attempt = async (caller: Caller) => {
      // The version is read before the attempt, so that no later change is missed.
      const { projectId, version } = await requireVisible(services.findRole, caller, params.id)
      const reply = await write(caller)
      return { projectId, version, reply, pause: pauseAfter(++attempts) }
    }
    let last = await attempt(caller)
    last = await longPoll(context, last, {
      waitMs: wait * 1_000,
      projectsOf: (state) => [state],
      hasEvents: ({ reply }) => reply.status !== 204,
      async reload(caller) {
        await last.pause
        // A client that has disconnected would have the claim until the end of the claim.
        return request.signal.aborted ? last : (last = await attempt(caller))
      },
    })
    return last.reply
  }
}
