import type { ReadRequest } from '../../src/commands/query.ts'
import type { Caller } from '../../src/identity/rights.ts'
import { requireVisible } from '../../src/reads/lookups.ts'
import type { Reply } from '../../src/responses/reply.ts'
import type { Services } from '../../src/services.ts'
import { openLongPoll } from '../events/long-poll.ts'

/** With `wait` in the body, claims again after each change of the project, until a task is ready or the time is over. */
export function openUntilReady(services: Pick<Services, 'authenticate' | 'findRole' | 'subscriptions'>) {
  const longPoll = openLongPoll(services)
  return async (context: ReadRequest, write: (caller: Caller) => Promise<Reply>): Promise<Reply> => {
    const { request, caller, body, params } = context
    const { wait } = body as { wait?: number }
    if (wait === undefined) return write(caller)
    let last: Reply | undefined
    // The version is read before the attempt, so that no later change is missed.
    const attempt = async (caller: Caller) => {
      const { projectId, version } = await requireVisible(services.findRole, caller, params.id)
      // A client that has gone away would hold the claim until its end.
      const reply: Reply = request.signal.aborted ? last! : await write(caller)
      return { projectId, version, reply: (last = reply) }
    }
    const { reply } = await longPoll(context, await attempt(caller), {
      waitMs: wait * 1_000,
      projectsOf: (state) => [state],
      hasEvents: ({ reply }) => reply.status !== 204,
      reload: attempt,
    })
    return reply
  }
}
