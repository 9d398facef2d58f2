import { readFileSync } from 'node:fs'
import process from 'node:process'
import type { Log } from '../logger.ts'

export const checkEveryMs = 60_000
const warnEveryMs = 3_600_000
const maxBusy = 0.8

interface Dependencies {
  isHome(): boolean
  log: Log
  readBusyMs?: () => number
  now?: () => number
}

/** Returns a function for each minute. The function warns if the event loop of a home was busy, at most once an hour. */
export function openBusyCheck({
  isHome,
  log,
  readBusyMs = busyMs,
  now = () => performance.now(),
}: Dependencies) {
  let last = { at: now(), busyMs: readBusyMs() }
  let warnedAt = -Infinity
  return (): void => {
    const current = { at: now(), busyMs: readBusyMs() }
    const busy = (current.busyMs - last.busyMs) / (current.at - last.at)
    last = current
    if (busy <= maxBusy || !isHome() || current.at - warnedAt < warnEveryMs) return
    warnedAt = current.at
    log.warn(
      { busyPercent: Math.round(100 * Math.min(1, busy)) },
      'the event loop of this home was busy for more than 80 % of the last minute: run more web processes, and set a higher WRITE_SHARDS in all of them',
    )
  }
}

/**
 * Returns for how long the main thread has run or has waited for a core. On the runtime Bun,
 * `performance.eventLoopUtilization` always returns 0. Outside Linux, the time of waiting for a core is unknown.
 */
export function busyMs(): number {
  try {
    const [ranNs, waitedNs] = readFileSync('/proc/thread-self/schedstat', 'utf8').split(' ').map(Number)
    return (ranNs! + waitedNs!) / 1e6
  } catch {
    const { user, system } = process.threadCpuUsage()
    return (user + system) / 1_000
  }
}
