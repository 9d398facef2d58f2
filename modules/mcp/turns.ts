import { setImmediate } from 'node:timers/promises'

/** The waiting messages of each account. The account whose turn is next comes first. */
const waiting = new Map<string, (() => void)[]>()
let isRunning = false

/**
 * Waits for an iteration of the event loop that no other message has. A message takes 0.2 ms, and a response that a tool
 * reads 1 to 10 ms: between them the event loop serves other requests. Accounts take turns, so that an account with many
 * messages delays only its own.
 */
export function ownIteration(account: string): Promise<void> {
  return new Promise((resolve) => {
    const queue = waiting.get(account)
    if (queue) queue.push(resolve)
    else waiting.set(account, [resolve])
    if (!isRunning) void run()
  })
}

async function run(): Promise<void> {
  isRunning = true
  while (waiting.size > 0) {
    await setImmediate()
    const [account, queue] = waiting.entries().next().value!
    waiting.delete(account)
    const begin = queue.shift()!
    if (queue.length > 0) waiting.set(account, queue)
    begin()
  }
  isRunning = false
}
