import { distance } from 'fastest-levenshtein'

/** Edits that a misspelt name may be away, and never more than half of it. */
const maxEdits = 3

/** Leaves the difference between `due_date` and `dueDate` out. */
const bare = (name: string): string => name.toLowerCase().replace(/[^a-z0-9]/g, '')

/** Which of `known` a misspelt name was likely meant to be; undefined when none is like it. */
export function nearest(name: string, known: string[]): string | undefined {
  const wanted = bare(name)
  let best: string | undefined
  let least = Infinity
  for (const one of known) {
    const other = bare(one)
    const isShort = Math.min(wanted.length, other.length) < 3
    const isPart = !isShort && (other.includes(wanted) || wanted.includes(other))
    const edits = isPart ? 1 : distance(wanted, other)
    const most = Math.min(maxEdits, Math.max(wanted.length, other.length) / 2)
    if (edits <= most && edits < least) [best, least] = [one, edits]
  }
  return best
}
