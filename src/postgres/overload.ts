/** A queue this short may be as slow as it likes: it waits for a fault to pass, not because there is too much to do. */
const shortQueue = 128
/** What waits longer than this would be answered too late to be of use, and so would all behind it. */
const patienceMs = 500

/** True when a queue, oldest first, has more to do than it can in time: better to refuse at once than to let all wait. */
export function isOverloaded(queue: { since: number }[]): boolean {
  return queue.length > shortQueue && performance.now() - queue[0]!.since > patienceMs
}
