import { SliceEnded } from '../../throttle.ts'

const smallBytes = 8_388_608
const waitMs = 1_000
/** A waiting import retries after `waitMs`, in a busy worker later. An import that does not retry leaves the queue. */
const waitingExpiresMs = 10_000
const maxWaiting = 1_000

export type LargeFiles = ReturnType<typeof openLargeFiles>
export type Reading = ReturnType<LargeFiles['begin']>

/**
 * A worker process reads one large file at a time, because a file may need minutes of processor time and hundreds of
 * megabytes. The imports of other large files form a queue, and do not count as running jobs while they wait. As an
 * account runs one import at a time, accounts take turns. Imports of small files do not wait.
 */
export function openLargeFiles(now = () => performance.now()) {
  /** The time of each waiting import's latest attempt, in the order of their first attempts. */
  const triedAt = new Map<string, number>()
  let current: string | undefined

  const isFirst = (importId: string): boolean => {
    for (const [id, at] of triedAt) if (now() - at < waitingExpiresMs) return id === importId
    return true
  }

  const admit = (importId: string, bytes: number): void => {
    if (current === importId || (bytes <= smallBytes && !triedAt.has(importId))) return
    if (triedAt.size === maxWaiting) triedAt.clear()
    triedAt.set(importId, now())
    if (current !== undefined || !isFirst(importId)) throw new SliceEnded(waitMs)
    current = importId
  }

  return {
    /** Begins to read the file of an import. A parser may read after the end: `admit` then throws. */
    begin(importId: string) {
      let hasEnded = false
      return {
        /** @param bytes read of the unpacked file @throws SliceEnded while another large file is read or is the next */
        admit(bytes = 0): void {
          if (hasEnded) throw new SliceEnded()
          admit(importId, bytes)
        },
        end(): void {
          hasEnded = true
          if (current !== importId) return
          current = undefined
          triedAt.delete(importId)
        },
      }
    },
  }
}
