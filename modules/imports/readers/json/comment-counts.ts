import { KeyMap } from '../key-map.ts'
import { maxLinks } from './limits.ts'

/** Counts the comments in the file, because many files do not contain all comments. */
export class CommentCounts {
  private readonly counts = new KeyMap<number>()

  add(task: string): void {
    const count = this.counts.get(task) ?? 0
    if (count > 0 || this.counts.size < maxLinks) this.counts.set(task, count + 1)
  }

  /** Returns a line for the report if the task has more comments than the file. @param total in the source */
  missing(task: string, total = 0): string[] {
    return this.counts.size === maxLinks ? [] : missingComments(total, this.counts.get(task) ?? 0)
  }
}

export const missingComments = (total: number, count: number): string[] =>
  total > count ? [`${total - count} of ${total} comments are not in the file`] : []
