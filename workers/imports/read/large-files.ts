import { SliceEnded } from '../../throttle.ts'

const smallBytes = 8_388_608
const waitMs = 1_000
/** A busy worker may take longer than `waitMs` until an import asks again. An import that was cancelled never does. */
const maxSilenceMs = 10_000
const maxKnown = 1_000

export type LargeFiles = ReturnType<typeof openLargeFiles>
export type Reading = ReturnType<LargeFiles['begin']>

/**
 * A worker process reads one large file at a time, because a file may take minutes of processor time and hundreds of
 * megabytes. Meanwhile the imports of other large files wait without a place, and are then read in the order in which
 * they came; an account runs one import at a time, so accounts take turns. Imports of small files do not wait.
 */
export function openLargeFiles(now = () => performance.now()) {
  /** When each import last asked, in the order of the imports. */
  const askedAt = new Map<string, number>()
  let current: string | undefined

  const isFirst = (importId: string): boolean => {
    for (const [id, at] of askedAt) if (now() - at < maxSilenceMs) return id === importId
    return true
  }

  const admit = (importId: string, bytes: number): void => {
    if (current === importId || (bytes <= smallBytes && !askedAt.has(importId))) return
    if (askedAt.size === maxKnown) askedAt.clear()
    askedAt.set(importId, now())
    if (current !== undefined || !isFirst(importId)) throw new SliceEnded(waitMs)
    current = importId
  }

  return {
    /** Begins to read the file of an import. A parser may ask for more parts after the end: they are refused. */
    begin(importId: string) {
      let hasEnded = false
      return {
        /** @param bytes of the unpacked file that were read. @throws SliceEnded while another large file is read, or is the next */
        admit(bytes = 0): void {
          if (hasEnded) throw new SliceEnded()
          admit(importId, bytes)
        },
        end(): void {
          hasEnded = true
          if (current !== importId) return
          current = undefined
          askedAt.delete(importId)
        },
      }
    },
  }
}
