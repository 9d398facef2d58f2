import { ConnectionLost, type Peer } from '../routing/rpc.ts'
import type { RpcClient } from '../routing/rpc-client.ts'
import type { Home } from '../routing/assignment.ts'
import { isId } from '../ids.ts'
import { noOrders } from '../metrics/counts.ts'
import { outcomeUnknown, Refusal } from '../wire/refusals.ts'
import type { Reply } from '../wire/reply.ts'
import type { Command } from './command.ts'
import type { Dispatch } from './order.ts'
import type { Perform } from './perform.ts'

/**
 * Takes an order to its project's home and brings back the answer.
 * @param deadline when to give up, on the clock of performance.now()
 * @throws Refusal what the rule refused, 503
 */
export type Deliver = Perform

/** Retries of a command whose home was lost while the command was under way there. */
const maxRetries = 2

interface Means {
  homeOf(projectId: string): Home | undefined
  call: RpcClient['call']
  perform: Perform
  counts?: ReturnType<typeof noOrders>
}

/**
 * Where a project is at home is only a guess: any process does any order, and the commit's comparison keeps it right. An
 * order whose home was lost goes to the next one as the same order, by whose id the log says whether it stands; at most
 * twice, so that a command that ends its process does not end them all.
 */
export function openDeliver({ homeOf, call, perform, counts = noOrders() }: Means): Deliver {
  const deliver = (command: Command, dispatch: Dispatch, deadline: number, retries = 0): Promise<Reply> => {
    const home = isId(dispatch.projectId) ? homeOf(dispatch.projectId) : 'here'
    const isHere = home === undefined || home === 'here'
    return isHere
      ? perform(command, dispatch, deadline)
      : send({ home, retries }, command, dispatch, deadline)
  }

  async function send(to: Destination, command: Command, dispatch: Dispatch, deadline: number) {
    counts.forwarded++
    try {
      const answer = await call(to.home, dispatch, deadline)
      if (answer.kind === 'reply') return answer
      if (answer.kind === 'refusal') throw new Refusal(answer.status, answer.message, answer.headers)
      if (answer.kind === 'failed') throw new Error(`${dispatch.name} failed at its home`)
      return perform(command, dispatch, deadline)
    } catch (error) {
      if (!(error instanceof ConnectionLost)) throw error
      counts.lost++
      if (!error.sent) return deliver(command, dispatch, deadline, to.retries)
      if (to.retries >= maxRetries) throw outcomeUnknown()
      return deliver(command, { ...dispatch, again: true }, deadline, to.retries + 1)
    }
  }
  return deliver
}

/** Another process, and how many processes lost the command before. */
interface Destination {
  home: Peer
  retries: number
}
