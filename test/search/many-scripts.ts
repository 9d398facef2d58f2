import fc from 'fast-check'

/** Texts that are found by their beginnings. */
const spaced = [
  ...[
    'Plate',
    'ink',
    'a',
    'I',
    '42',
    'v2',
    'x'.repeat(199),
    'y'.repeat(250),
    'ÉTÉ',
    'e\u0301te\u0301',
    'Straße',
  ],
  ...[
    'STRASSE',
    'İstanbul',
    'ısı',
    'IŞIK',
    'Ærø',
    'Łódź',
    'Þór',
    'ﬁnal',
    'ŉ',
    'ＷＩＤＥ',
    '𝐁old',
    '①',
    'm²',
    'Ⅷ',
    '№5',
  ],
  ...[
    'ΟΔΟΣ',
    'οδος',
    'Ἀθῆναι',
    'Ёлка',
    'мой',
    'ДОМ',
    'שָׁלוֹם',
    'שלום',
    'مُحَمَّد',
    'كـتاب',
    '٤٢',
    '۴۲',
    '४२',
    '𞤀𞤣',
  ],
  ...[
    'हिन्दी',
    'வணக்கம்',
    'soft\u00adhyphen',
    'می\u200cخواهم',
    '\u202eabc\u202c',
    'ﷺ',
    '𐐀𐐨',
    'Ꭰ',
    'z\u0300\u0301',
  ],
]

/** Texts of scripts without spaces, which are found by every part. */
const dense = [
  ...[
    '東',
    '東京',
    '東京都庁',
    '𠮷野家',
    '々',
    '株㍿',
    '㌀',
    'サーバー',
    'ｻｰﾊﾞｰ',
    'ガイド',
    'ｶﾞｲﾄﾞ',
    'か\u3099',
    'ひらがな',
  ],
  ...[
    'ー',
    '한국어',
    '각각',
    'ㅋㅋ',
    'ﾡ',
    'สวัสดีครับ',
    'ไม้',
    'ພາສາ',
    'ភាសាខ្មែរ',
    'မြန်မာ',
    'ㄅㄆ',
    '第3回',
  ],
]
/** A Korean word in parts of syllables, which only whole syllables find. */
const parted = '\u1112\u1161\u11ab\u1100\u116e\u11a8'

/** Separators, invisible characters, and everything that a tsvector, a tsquery or a search reads in a special way. */
const special = [
  ...[
    ' ',
    '  ',
    '\n',
    '\t',
    '-',
    '_',
    '.',
    ', ',
    '/',
    '@',
    '’',
    'ʼ',
    "'",
    '"',
    '\\',
    "\\'",
    "''",
    ':',
    ':*',
    ':A',
    '&',
  ],
  ...[
    '|',
    '!',
    '(',
    ')',
    '<->',
    '<2>',
    '*',
    '#',
    '#42',
    '%',
    '$1',
    '\0',
    '\ud800',
    '\udc00',
    '\ufffd',
    '🎉',
    '1️⃣',
  ],
  ...[
    '👩\u200d👧',
    '\u200b',
    '\u200d',
    '\ufe0f',
    '\u0301',
    '\u3164',
    '\u3000',
    '\u2028',
    '\u{e0041}',
    '\u{10ffff}',
  ],
  ...['…', '“', '”', '、', '。', '・', '<b>', '&amp;', '--', '½', '´'],
]

export const spacedPieces = fc.constantFrom(...spaced)
export const densePieces = fc.constantFrom(...dense)
export const pieces = fc.constantFrom(...spaced, ...dense, parted)

const anyPiece = fc.oneof(
  { weight: 3, arbitrary: pieces },
  { weight: 3, arbitrary: fc.constantFrom(...special) },
  fc.string({ unit: 'binary', maxLength: 3 }),
)
export const texts = (maxPieces: number) =>
  fc.array(anyPiece, { maxLength: maxPieces }).map((list) => list.join(''))

/** Pieces that a text has as words of their own. */
export const lists = fc.array(pieces, { minLength: 2, maxLength: 10 })
export const separators = fc.constantFrom(' ', ', ', '\n', ' – ', '/', '\u3000', "'")

/** Forms of a text that find the same. */
export const forms = [
  ...[(text: string) => text, (text: string) => text.toUpperCase(), (text: string) => text.toLowerCase()],
  ...['NFC', 'NFD', 'NFKC', 'NFKD'].map((form) => (text: string) => text.normalize(form)),
]
