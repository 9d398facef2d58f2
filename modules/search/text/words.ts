import { fold } from './fold.ts'

/** A word, or two adjacent characters of a run of dense script; such a run ends with its last character alone. */
export interface Word {
  text: string
  /** Offsets in UTF-16 code units. */
  start: number
  end: number
  isDense: boolean
}

const maxWordUnits = 200

const notAscii = /[^\0-\x7f]/

/** Returns the texts of `wordsOf`. Most texts are ASCII, which takes less than half the time. */
export function wordTextsOf(text: string): string[] {
  if (notAscii.test(text)) return wordsOf(text).map((word) => word.text)
  return (text.toLowerCase().match(/[0-9a-z]+/g) ?? []).map(cut)
}

/** Returns the words of a text in order. Documents, searches and snippets all use these words. */
export function wordsOf(text: string): Word[] {
  const run = new Run()
  for (let at = 0; at < text.length;) {
    const code = text.charCodeAt(at)
    if (code > 127) at = addFolded(run, text, at)
    else if (isAlphanumeric[code]) {
      const start = at
      do at++
      while (isAlphanumeric[text.charCodeAt(at)])
      run.add(text.slice(start, at).toLowerCase(), start, at)
    } else {
      run.close()
      at++
    }
  }
  run.close()
  return run.words
}

const isAlphanumeric = Array.from({ length: 128 }, (_, code) => /[0-9A-Za-z]/.test(String.fromCharCode(code)))

/** Adds the character at an offset, and returns the offset behind the character. */
function addFolded(run: Run, text: string, start: number): number {
  const character = characterAt(text, start)
  const end = start + character.length
  const parts = fold(character)
  // An accent belongs to the character before it.
  if (parts.length === 0) run.extend(end)
  for (const { text, kind } of parts) {
    if (kind === 'plain') run.add(text, start, end)
    else if (kind === 'dense') run.addDense(text, start, end)
    else run.close()
  }
  return end
}

const syllable = /[\u1100-\u1112][\u1161-\u1175][\u11a8-\u11c2]?|[\uac00-\ud7a3][\u11a8-\u11c2]/y

/** Returns the code point at an offset, or the parts of one Korean syllable. */
function characterAt(text: string, at: number): string {
  const code = text.codePointAt(at)!
  if ((code >= 0x1100 && code <= 0x1112) || (code >= 0xac00 && code <= 0xd7a3)) {
    syllable.lastIndex = at
    const match = syllable.exec(text)
    if (match) return match[0]
  }
  return code > 0xffff ? text.slice(at, at + 2) : text[at]!
}

/** Adjacent characters of one kind: the word that is being read. */
class Run {
  readonly words: Word[] = []
  private word: Word | undefined

  add(text: string, start: number, end: number): void {
    const { word } = this
    if (word && !word.isDense) {
      word.text += text
      word.end = end
    } else {
      this.close()
      this.word = { text, start, end, isDense: false }
    }
  }

  addDense(text: string, start: number, end: number): void {
    const { word } = this
    if (word && !word.isDense) this.close()
    else if (word) this.words.push({ text: word.text + text, start: word.start, end, isDense: true })
    this.word = { text, start, end, isDense: true }
  }

  extend(end: number): void {
    if (this.word) this.word.end = end
  }

  close(): void {
    const { word } = this
    if (!word) return
    word.text = cut(word.text)
    this.words.push(word)
    this.word = undefined
  }
}

function cut(word: string): string {
  if (word.length <= maxWordUnits) return word
  const isPairSplit = /[\ud800-\udbff]/.test(word[maxWordUnits - 1]!)
  return word.slice(0, isPairSplit ? maxWordUnits - 1 : maxWordUnits)
}
