import { distance } from 'fastest-levenshtein'

/** The largest edit distance of a suggestion. For a short name, the limit is half the length of the name. */
const maxEdits = 3

/** Returns the same text for `created_at` and `createdAt`. */
const bare = (name: string): string => name.toLowerCase().replace(/[^a-z0-9]/g, '')

export function nearest(name: string, names: string[]): string | undefined {
  const misspelt = bare(name)
  let best: string | undefined
  let least = Infinity
  for (const one of names) {
    const other = bare(one)
    const isShort = Math.min(misspelt.length, other.length) < 3
    const isPart = !isShort && (other.includes(misspelt) || misspelt.includes(other))
    const edits = isPart ? 1 : distance(misspelt, other)
    const limit = Math.min(maxEdits, Math.max(misspelt.length, other.length) / 2)
    if (edits <= limit && edits < least) [best, least] = [one, edits]
  }
  return best
}
