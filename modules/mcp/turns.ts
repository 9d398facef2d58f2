import { setImmediate } from 'node:timers/promises'

let previous: Promise<unknown> = Promise.resolve()

/**
 * Waits for an iteration of the event loop of its own, so that other requests run between two messages. A message needs
 * 0.2 ms of the event loop, and each response that a tool reads needs 1 to 10 ms.
 */
export const ownIteration = (): Promise<unknown> => (previous = previous.then(() => setImmediate()))
