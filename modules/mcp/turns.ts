import { setImmediate } from 'node:timers/promises'

let last: Promise<unknown> = Promise.resolve()

/**
 * Waits for the next iteration of the event loop that no other message has. A message takes 0.2 ms, and a response that
 * a tool reads 1 to 10 ms: between them the event loop serves other requests.
 */
export const turn = (): Promise<unknown> => (last = last.then(() => setImmediate()))
