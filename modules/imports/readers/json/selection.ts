/** A node in the tree of the patterns of wanted parts. */
export interface Selection {
  keys: Map<string, Selection>
  /** For all other keys, and for the entries of lists. */
  others?: Selection
  /** The pattern of the wanted part that begins here. */
  part?: string
}

/** @param parts such as `cards.*`: keys, and `*` for any key or entry. The empty pattern is an object at the top. */
export function selectionOf(parts: string[]): Selection {
  const root: Selection = { keys: new Map() }
  for (const part of parts) {
    let at = root
    for (const key of part === '' ? [] : part.split('.')) at = stepOf(at, key)
    at.part = part
  }
  return root
}

function stepOf(from: Selection, key: string): Selection {
  if (key === '*') return (from.others ??= { keys: new Map() })
  const step = from.keys.get(key) ?? { keys: new Map() }
  from.keys.set(key, step)
  return step
}

/** @param key a number is the position in a list */
export const selectKey = (from: Selection, key: string | number): Selection | undefined =>
  (typeof key === 'string' ? from.keys.get(key) : undefined) ?? from.others
