import type { Work } from '../../src/actor/work.ts'
import { newId } from '../../src/ids.ts'

/** A piece of work for an actor, as a command would make it; none of its answers gets lost. */
export function workOf<T>(userId: string, work: Pick<Work<T>, 'projectId' | 'decide'> & Partial<Work<T>>) {
  const recall = (): T => {
    throw new Error('This answer was not lost')
  }
  return { id: newId(), caller: { userId }, recall, ...work }
}

/** Far enough away to play no part. */
export const later = () => performance.now() + 15_000
