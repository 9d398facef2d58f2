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

/** After so much work the account waits for its next iteration. */
const maxMs = 5

/** Returns the results of several pieces of work. Between two pieces the event loop can serve other requests. */
export async function inIterations<Result>(work: (() => Result)[], account: string): Promise<Result[]> {
  const results: Result[] = []
  let end = performance.now() + maxMs
  for (const piece of work) {
    results.push(piece())
    if (performance.now() <= end) continue
    await ownIteration(account)
    end = performance.now() + maxMs
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
