/** What no required text of at most `most` characters may be. */
export const invalidTexts = (most: number): unknown[] => [
  ...['', ' \t\n', 'x'.repeat(most + 1), 'a\0b', '\ud800', 'a\udc00b'],
  ...[7, true, null, ['x'], { x: 1 }],
]

const controls = ['\n', '\t', '\r', '\u001b[31m', '\u007f', '\u0085', '\u009b']
const overrides = [...'\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069']

/** What no name or title may be either: it would break a line of a log, or show itself otherwise than it is. */
export const invalidNames = (most: number): unknown[] => [
  ...invalidTexts(most),
  ...[...controls, ...overrides].map((one) => `a${one}b`),
]

const many = "Grüße, 漢字 😀 שלום\u200f <b>'; drop table tasks; --"

/** Texts of at most `most` characters at their limits, each with how it is stored. */
export const validTexts = (most: number): [sent: string, stored: string][] => [
  ['x', 'x'],
  ['x'.repeat(most), 'x'.repeat(most)],
  [`  ${'y'.repeat(most)}\n`, 'y'.repeat(most)],
  [many, many],
]

/** The same, and one of several lines with any format. */
export const validMultilineTexts = (most: number): [sent: string, stored: string][] => [
  ...validTexts(most),
  ['one\n\ttwo\r\n\u202ethree\u202c\n', 'one\n\ttwo\r\n\u202ethree\u202c'],
]
