/** Letters that have no decomposition in Unicode, but that readers write with plain letters. */
const plainLetters: Record<string, string> = {
  ...{ ß: 'ss', æ: 'ae', œ: 'oe', ø: 'o', đ: 'd', ð: 'd', þ: 'th', ł: 'l', ı: 'i', ħ: 'h', ς: 'σ' },
}

/** Scripts that are written without spaces between words. */
const unspaced = '\\p{Script=Han}\\p{Script=Hiragana}\\p{Script=Katakana}\\p{Script=Hangul}\\p{Script=Thai}'
const RUNS = new RegExp(`[${unspaced}]+|(?:(?![${unspaced}])[\\p{L}\\p{N}])+`, 'gu')
const UNSPACED = new RegExp(`^[${unspaced}]`, 'u')

/** Returns the words of a text, without case and accents. A run of an unspaced script is one word. */
export function runsOf(text: string): string[] {
  let runs = known.get(text)
  if (!runs) known.set(text, (runs = split(text)))
  return runs
}

const known = new Map<string, string[]>()

function split(text: string): string[] {
  const plain = text
    .normalize('NFKD')
    .toLowerCase()
    .replace(/\p{M}/gu, '')
    .normalize('NFC')
    .replace(/[ßæœøđðþłıħς]/g, (one) => plainLetters[one]!)
  return plain.match(RUNS) ?? []
}

export interface Term {
  runs: string[]
  isPrefix: boolean
}

export interface Query {
  terms: Term[]
  excluded: Term[]
  /** The numbers of tasks that `#42` asks for. */
  numbers: number[]
}

/** Reads a query whose quotes are balanced and surrounded by spaces. */
export function readQuery(q: string): Query {
  const query: Query = { terms: [], excluded: [], numbers: [] }
  const tokens = q.trim().match(/-?"[^"]*"|\S+/g) ?? []
  for (const [i, token] of tokens.entries()) {
    const isLast = i === tokens.length - 1
    const isExcluded = token.startsWith('-')
    const [, phrase] = /^-?"(.*)"$/.exec(token) ?? []
    if (/^#\d+$/.test(token)) query.numbers.push(Number(token.slice(1)))
    else if (phrase !== undefined || isExcluded)
      query[isExcluded ? 'excluded' : 'terms'].push({
        runs: runsOf(phrase ?? token.slice(1)),
        isPrefix: false,
      })
    else
      for (const [n, run] of runsOf(token).entries())
        query.terms.push({ runs: [run], isPrefix: isLast && n === runsOf(token).length - 1 })
  }
  return query
}

/** True if the words of the term follow each other in the words of the text. */
export const contains = (text: string, { runs, isPrefix }: Term): boolean => {
  const own = runsOf(text)
  return own.some((_, start) => runs.every((run, i) => matches(own[start + i], run, isPrefix)))
}

const matches = (own: string | undefined, run: string, isPrefix: boolean): boolean => {
  if (own === undefined) return false
  if (UNSPACED.test(run)) return own.includes(run)
  return isPrefix ? own.startsWith(run) : own === run
}
