import stringWidth from 'string-width'

const segmenter = new Intl.Segmenter()

// Control characters, line separators, and characters that change the direction of text.
const unsafe = /[\p{Cc}\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]/gu
// JSON.stringify escapes the other control characters.
const unsafeInJson = /[\u007f-\u009f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]/g

/** Returns a text of the service on one line, without control characters that could change the terminal. */
export const printable = (text: string): string =>
  text.replace(unsafe, (one) => (/[\t\n\r]/.test(one) ? ' ' : '\ufffd'))

/** Returns JSON in which control characters that could change the terminal are escaped. */
export const jsonText = (value: unknown, indent?: number): string =>
  JSON.stringify(value, null, indent).replace(
    unsafeInJson,
    (one) => `\\u${one.charCodeAt(0).toString(16).padStart(4, '0')}`,
  )

export const widthOf = (text: string): number => stringWidth(text)

/** Returns the text with exactly `width` columns: cut with `…`, or padded with spaces. */
export function fitted(text: string, width: number): string {
  const needed = widthOf(text)
  if (needed <= width) return text + ' '.repeat(width - needed)
  let cut = ''
  let used = 0
  for (const { segment } of segmenter.segment(text)) {
    const columns = widthOf(segment)
    if (used + columns > width - 1) break
    cut += segment
    used += columns
  }
  return `${cut}…${' '.repeat(width - 1 - used)}`
}

const twoDigits = (part: number) => String(part).padStart(2, '0')

/** Returns the date and time in the time zone of the user. */
export function localTime(iso: string): string {
  const at = new Date(iso)
  const date = [at.getFullYear(), at.getMonth() + 1, at.getDate()].map(twoDigits).join('-')
  return `${date} ${[at.getHours(), at.getMinutes(), at.getSeconds()].map(twoDigits).join(':')}`
}
