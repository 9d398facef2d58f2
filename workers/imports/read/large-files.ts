import { SliceEnded } from '../../throttle.ts'

const smallBytes = 8_388_608
const waitMs = 1_000
const maxKnown = 1_000

export type LargeFiles = ReturnType<typeof openLargeFiles>

/**
 * A worker process reads one large file at a time, because a file may take minutes of processor time and hundreds of
 * megabytes. Meanwhile the imports of other large files wait without a place; those of small files do not wait.
 */
export function openLargeFiles() {
  const known = new Set<string>()
  let current: string | undefined
  return {
    /** @param bytes of the unpacked file that were read. @throws SliceEnded while another large file is read */
    admit(importId: string, bytes = 0): void {
      if (bytes <= smallBytes && !known.has(importId)) return
      if (known.size === maxKnown) known.clear()
      known.add(importId)
      current ??= importId
      if (current !== importId) throw new SliceEnded(waitMs)
    },
    /** Called when the file is not read any more. */
    release(importId: string): void {
      if (current !== importId) return
      current = undefined
      known.delete(importId)
    },
  }
}
