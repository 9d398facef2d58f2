import { createHash } from 'node:crypto'

/** The keys of tasks that have no id in their file: the same file always gives the same keys. */
export class Keys {
  private readonly counts = new Map<string, number>()

  /** Returns a digest. Further tasks with the same path and title get `#2`, `#3` and so on. */
  keyFor(path: string[], title: string): string {
    const hash = createHash('sha256').update(JSON.stringify([...path, title]))
    const key = hash.digest('hex').slice(0, 32)
    const count = (this.counts.get(key) ?? 0) + 1
    this.counts.set(key, count)
    return count === 1 ? key : `${key}#${count}`
  }
}
