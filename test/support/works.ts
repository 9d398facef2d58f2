import type { QueuedCommand } from '../../src/actor/queued-command.ts'
import { newId } from '../../src/ids.ts'

type Given<T> = Pick<QueuedCommand<T>, 'projectId' | 'decide'> & Partial<QueuedCommand<T>>

/** A command for an actor. Its reply never has to be found in the log. */
export function queuedCommand<T>(userId: string, given: Given<T>): QueuedCommand<T> {
  return {
    id: newId(),
    caller: { userId },
    deadline: later(),
    isRecallable: true,
    since: 0,
    authorize() {},
    recall() {
      throw new Error('This reply was not lost')
    },
    resolve() {},
    reject() {},
    ...given,
  }
}

/** Far enough away to play no part. */
export const later = () => performance.now() + 15_000
