import { setImmediate } from 'node:timers/promises'
import { RoundRobin } from './round-robin.ts'

const waiting = new RoundRobin<() => void>()
let isRunning = false

/**
 * Waits for an iteration of the event loop that no other caller has. An MCP message takes 0.2 ms, a response that a tool
 * reads 1 to 10 ms, a step of a search 5 ms: between them the event loop serves other requests. Accounts take turns, so
 * that an account with much work delays only its own.
 */
export function ownIteration(account: string): Promise<void> {
  return new Promise((resolve) => {
    waiting.add(account, resolve)
    if (!isRunning) void run()
  })
}

/** The longest work in one iteration, as far as its steps are shorter. */
const maxMs = 5

/** Returns the results of several pieces of work. Each `yield` lets the account wait for its own next iteration. */
export async function inIterations<Result>(
  work: Iterator<undefined, Result>[],
  account: string,
): Promise<Result[]> {
  const results: Result[] = []
  let end = performance.now() + maxMs
  for (const piece of work)
    for (;;) {
      const step = piece.next()
      if (step.done) results.push(step.value)
      if (performance.now() > end) {
        await ownIteration(account)
        end = performance.now() + maxMs
      }
      if (step.done) break
    }
  return results
}

async function run(): Promise<void> {
  isRunning = true
  for (;;) {
    await setImmediate()
    const begin = waiting.next()
    if (!begin) break
    begin()
  }
  isRunning = false
}
