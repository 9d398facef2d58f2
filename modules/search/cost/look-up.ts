/** A word or the start of a word, as the text of a tsquery. */
export interface IndexWord {
  text: string
  isPrefix: boolean
}

export interface Sizes {
  projects: number
  /** Documents in the scope of the search, and of all projects. */
  inScope: number
  total: number
  /** Documents that are not merged into the index. Each look-up reads all of them. */
  unmerged: number
  /** How many documents of all projects contain each word, as Postgres estimates by its statistics. */
  words: number[]
}

export interface LookUp {
  /** The words to look up in the index; the other conditions are checked for each document. */
  lookUp: string
  /** Whether the index also selects the projects. It then runs one look-up for each project. */
  byProject: boolean
  /** The documents that the look-up probably finds, and its cost as a number of documents. */
  found: number
  cost: number
}

export interface Frequent extends IndexWord {
  /** The part of the documents in the scope, and of all documents. */
  frequency: number
  everywhere: number
}

/** Reading a document takes about 2 µs, one more look-up in the index 20 µs (measured): as much as these documents. */
const documentsPerLookUp = 10
/** Reading a word's entry for a document in the index takes 0.1 to 0.2 µs (measured): this part of reading the document. */
const costOfEntry = 0.08
/** Each look-up sorts all entries of a prefix: 0.3 µs an entry (measured). */
const costOfPrefixEntry = 0.15
/** Reading a document that is not merged costs this part of reading a document. */
const costOfUnmerged = 0.2
/** The look-up gets another word while more documents than this are expected: checking a document costs more. */
const manyDocuments = 1_000

/** A prefix is looked up together with a word only if it is rare and has 3 letters: with quotes and `:*`, 7 characters. */
const maxPrefixFrequency = 0.1
const minPrefixText = 7
/** A shorter prefix is expected in this part of all documents: the statistics have only the most frequent words. */
const shortPrefixFrequency = 0.02
/** A rarer prefix is looked up before a more frequent word. */
const maxFirstFrequency = 0.005

/** Returns the part of all documents that contain each word. */
export const everywhere = (words: IndexWord[], { words: inAll, total }: Sizes): number[] =>
  words.map(({ text, isPrefix }, n) =>
    Math.max(inAll[n]! / total, isPrefix && text.length < minPrefixText ? shortPrefixFrequency : 0),
  )

/** @param maxFound the most documents of the scope that the look-up needs to read */
export function cheapestLookUp(words: Frequent[], sizes: Sizes, maxFound = Infinity): LookUp {
  const ways = sizes.projects === 1 ? [true] : [false, true]
  const plans = ways.map((byProject) => planLookUp(words, sizes, byProject, maxFound))
  return plans.sort((a, b) => a.cost - b.cost)[0]!
}

function planLookUp(words: Frequent[], sizes: Sizes, byProject: boolean, maxFound: number): LookUp {
  const { inScope, total, unmerged } = sizes
  const [first, ...others] = rarestFirst(words, byProject)
  const searched = byProject ? inScope : total
  const lookUps = byProject ? sizes.projects : 1
  const chosen = [first!.text]
  const part = (word: Frequent) => (byProject ? word.frequency : word.everywhere)
  let found = part(first!) * searched
  for (const other of others) {
    const { text, isPrefix, everywhere } = other
    if (found <= manyDocuments) break
    // A prefix costs as much as all words that begin with it, once for each look-up.
    if (isPrefix && (everywhere > maxPrefixFrequency || text.length < minPrefixText || lookUps > 1)) continue
    chosen.push(text)
    found *= part(other)
  }
  const entries = first!.everywhere * total
  const ofPrefix = first!.isPrefix ? entries * costOfPrefixEntry : 0
  const perLookUp = documentsPerLookUp + ofPrefix + unmerged * costOfUnmerged
  const read = Math.min(found, (maxFound * searched) / inScope)
  const cost = read + Math.min(searched, entries) * costOfEntry + lookUps * perLookUp
  return { lookUp: chosen.join(' & '), byProject, found, cost }
}

/** Prefixes come last, because a prefix opens the words of all projects, except a rare prefix: it has few words to open. */
const rarestFirst = (words: Frequent[], byProject: boolean): Frequent[] =>
  words.toSorted(
    (a, b) =>
      Number(isCostly(a)) - Number(isCostly(b)) ||
      (byProject ? 0 : a.everywhere - b.everywhere) ||
      a.frequency - b.frequency,
  )

const isCostly = ({ isPrefix, text, everywhere }: Frequent) =>
  isPrefix && (text.length < minPrefixText || everywhere > maxFirstFrequency)
