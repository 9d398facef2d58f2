export const invalidTexts = (max: number): unknown[] => [
  ...['', ' \t\n', 'x'.repeat(max + 1), 'a\0b', '\ud800', 'a\udc00b'],
  ...[7, true, null, ['x'], { x: 1 }],
]

const controls = ['\n', '\t', '\r', '\u001b[31m', '\u007f', '\u0085', '\u009b']
const overrides = [...'\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069']

export const invalidNames = (max: number): unknown[] => [
  ...invalidTexts(max),
  ...[...controls, ...overrides].map((one) => `a${one}b`),
]

const mixed = "Grüße, 漢字 😀 שלום\u200f <b>'; drop table tasks; --"

/** Valid texts of at most `max` characters, each with its stored form. */
export const validTexts = (max: number): [sent: string, stored: string][] => [
  ['x', 'x'],
  ['x'.repeat(max), 'x'.repeat(max)],
  [`  ${'y'.repeat(max)}\n`, 'y'.repeat(max)],
  [mixed, mixed],
]

export const validMultilineTexts = (max: number): [sent: string, stored: string][] => [
  ...validTexts(max),
  ['one\n\ttwo\r\n\u202ethree\u202c\n', 'one\n\ttwo\r\n\u202ethree\u202c'],
]
