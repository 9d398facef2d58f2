import { shortKey } from '../../convert/keys.ts'
import { KeyMap } from '../key-map.ts'
import { listOf, oneLine } from './values.ts'

/** In a list with more than `maxSearched` parts, titles with separators are not searched. */
const [maxTitleParts, maxSearched] = [10, 1_000]

/** The keys of tasks by the names by which rows refer to them: titles, or ids other than the keys. */
export class References {
  private readonly keys = new KeyMap<string>()

  constructor(private readonly hasIds: boolean) {}

  /** @param replaces true if the name means this task from now on; false if it means the first task with the name */
  add(given: string, key: string, replaces = false): void {
    const name = oneLine(given)
    if (replaces || this.keys.get(name) === undefined) this.keys.set(name, shortKey(oneLine(key)))
  }

  find(reference: string): string | undefined {
    // Notion writes a title and an address, such as `Draw (https://…)`.
    const end = reference.lastIndexOf(' (')
    const isPage = end > 0 && /(:\/\/|\.md|\.csv).*\)$/.test(reference.slice(end))
    return this.keys.get(isPage ? reference.slice(0, end) : reference)
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
function idsIn(text: string): string[] {
  const parts = listOf(text.replace(/^(\d+)FS\b.*/, '$1'), /\s/)
  return parts.every((part) => /\d/.test(part)) ? parts : [text]
}
