import { DigestKeys, shortKey } from '../../convert/keys.ts'
import { KeyMap } from '../key-map.ts'
import { listOf, oneLine } from './values.ts'

/** Bounds the memory for titles in a file with ids, which rarely refers to titles. */
const maxTitlesWithIds = 100_000
/** In a list with more than `maxSearched` parts, titles with separators are not searched. */
const [maxTitleParts, maxSearched] = [10, 1_000]

/** The titles of a file in which tasks may refer to others by their titles. */
export class Titles {
  private readonly ids = new KeyMap<string>()

  constructor(private readonly hasIds: boolean) {}

  /** @param replaces true if the title means this task from now on; false if it means the first task with the title */
  add(given: string, id: string, replaces = false): void {
    const title = oneLine(given)
    const isKnown = this.ids.get(title) !== undefined
    const hasSpace = !this.hasIds || this.ids.size < maxTitlesWithIds
    if (isKnown ? replaces : hasSpace) this.ids.set(title, shortKey(oneLine(id)))
  }

  /** Returns the key of the task with the title, or undefined. */
  find(reference: string): string | undefined {
    const title = pageIn(reference) ?? reference
    const id = this.ids.get(title)
    return id === undefined ? undefined : id || new DigestKeys().next(title)
  }

  /** Returns the references in a list. A title may contain separators: of several matches, the longest title is used. */
  referencesIn(list: string): { text: string; key: string | undefined }[] {
    // Separators are parts too.
    const parts = list.split(/([,;\n])/)
    const maxParts = parts.length > 2 * maxSearched ? 1 : 2 * maxTitleParts - 1
    const found: { text: string; key: string | undefined }[] = []
    for (let start = 0, end = 0; start < parts.length; start = end + 1) {
      const textTo = (last: number) => oneLine(parts.slice(start, last).join(''))
      end = Math.min(start + maxParts, parts.length)
      while (end > start + 1 && this.find(textTo(end)) === undefined) end -= 2
      const text = textTo(end)
      if (text !== '') found.push({ text, key: this.find(text) })
    }
    return found
  }

  keysIn(list: string): string[] {
    return this.referencesIn(list).flatMap(({ text, key }) => key ?? (this.hasIds ? idsIn(text) : [text]))
  }
}

/** Ids may be separated by spaces. Words without digits are a title. Microsoft Project writes `2FS+1 day`. */
export function idsIn(text: string): string[] {
  const parts = listOf(text.replace(/^(\d+)FS\b.*/, '$1'), /\s/)
  return parts.every((part) => /\d/.test(part)) ? parts : [text]
}

/** Returns the title in a reference to a page of Notion, such as `Draw (https://…)`. */
function pageIn(text: string): string | undefined {
  const end = text.endsWith(')') ? text.lastIndexOf(' (') : -1
  return end > 0 && /:\/\/|\.md|\.csv/.test(text.slice(end)) ? text.slice(0, end) : undefined
}
