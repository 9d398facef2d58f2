/** A word or the start of a word, as the text of a tsquery. */
export interface IndexWord {
  text: string
  isPrefix: boolean
}

/** How often words and hits occur in the newest documents, as a sample of all. */
export interface Sample {
  documents: number
  hits: number
  /** How many of the documents contain each word. */
  words: number[]
  /** Documents per second, of the projects whose older documents are not in the sample. */
  rate: number
  /** The time of the newest document in ms. */
  topMs: number
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

export interface Window {
  since: string
  /** The most documents of each project. */
  documents: number
}

export interface Plan {
  /** The words to look up in the index; the other conditions are checked for each document. */
  lookUp: string
  /** Whether the index also selects the projects. It then runs one look-up for each project. */
  byProject: boolean
  /** Whether it is cheaper to read all documents of the scope, without the index of words. */
  readsAll: boolean
  /** Windows of time that probably contain enough hits, and cost less than the look-up. */
  windows: Window[]
}

/** One more look-up in the index costs as much as reading this many documents. */
const documentsPerLookUp = 130
/** Reading a document that is not merged costs this part of reading a document. */
const costOfUnmerged = 0.2
/** Reading a word's entry for a document in the index costs this part of reading the document. */
const costOfEntry = 0.01
const costOfPrefixEntry = 0.1
/** The look-up gets another word while more documents than this are expected: checking a document costs more. */
const manyDocuments = 1_000
const manyDocumentsByProject = 5_000
/** A window of this many documents is always cheap enough; a larger one than `maxWindow` never is. */
const cheapWindow = 2_000
const maxWindow = 60_000
/** Reading a document by the index of words costs 1.3 times as much as in the order of time (measured). */
const costOfLookUp = 1.3
/** So many documents are always read without the index: the look-up may cost more, by what other projects contain. */
const cheapScope = 5_000

/** A prefix is looked up together with a word only if it is rare and has 3 letters: with quotes and `:*`, 7 characters. */
const maxPrefixFrequency = 0.1
const minPrefixText = 7
/** A shorter prefix is expected in this part of all documents: the statistics have only the most frequent words. */
const shortPrefixFrequency = 0.02
/** A rarer prefix is looked up before a more frequent word. */
const maxFirstFrequency = 0.005

interface Frequent extends IndexWord {
  /** In the sample, and in the documents of all projects. */
  frequency: number
  everywhere: number
}

const frequency = (count: number, documents: number) => (count + 0.3) / documents

/** Chooses the cheapest way to find `wanted` hits. Every choice finds the same hits. */
export function planSearch(words: IndexWord[], sample: Sample, sizes: Sizes, wanted: number): Plan {
  const { lookUp, byProject, found, cost } = cheapestLookUp(frequencies(words, sample, sizes), sizes)
  const readsAll = isCheaper(sizes, cost)
  const maxCost = readsAll ? sizes.inScope : Math.max(cheapWindow, found * costOfLookUp)
  return { lookUp, byProject, readsAll, windows: windowsFor(sample, wanted, maxCost) }
}

/** Chooses the cheapest way to find all documents with one of the words. Undefined if none is rare in the sample. */
export function planRareWord(
  words: IndexWord[],
  sample: Pick<Sample, 'words' | 'documents'>,
  sizes: Sizes,
  maxFrequency: number,
): Omit<Plan, 'windows'> | undefined {
  const [cheapest] = frequencies(words, sample, sizes)
    .filter(({ frequency }) => frequency <= maxFrequency)
    .map((word) => cheapestLookUp([word], sizes))
    .sort((a, b) => a.cost - b.cost)
  return cheapest && { ...cheapest, readsAll: isCheaper(sizes, cheapest.cost) }
}

const isCheaper = ({ inScope }: Sizes, cost: number) =>
  inScope <= cheapScope || inScope <= Math.min(cost * costOfLookUp, maxWindow)

function cheapestLookUp(words: Frequent[], sizes: Sizes) {
  const ways = sizes.projects === 1 ? [true] : [false, true]
  const plans = ways.map((byProject) => planLookUp(rarestFirst(words, byProject), sizes, byProject))
  return plans.sort((a, b) => a.cost - b.cost)[0]!
}

/** Returns a look-up with the documents that it probably finds, and its cost as a number of documents. */
function planLookUp([first, ...others]: Frequent[], sizes: Sizes, byProject: boolean) {
  const { projects, inScope, total, unmerged } = sizes
  const isRepeated = byProject && projects > 1
  const searched = byProject ? inScope : total
  const chosen = [first!.text]
  const part = (word: Frequent) => (byProject ? word.frequency : word.everywhere)
  let found = part(first!) * searched
  for (const other of others) {
    const { text, isPrefix, everywhere } = other
    if (found <= (isRepeated ? manyDocumentsByProject : manyDocuments)) break
    // A prefix costs as much as all words that begin with it, once for each look-up.
    if (isPrefix && (everywhere > maxPrefixFrequency || text.length < minPrefixText || isRepeated)) continue
    chosen.push(text)
    found *= part(other)
  }
  const entries = first!.everywhere * total * (first!.isPrefix ? costOfPrefixEntry : costOfEntry)
  const lookUps = byProject ? projects * (documentsPerLookUp + entries) : 0
  const pending = (byProject ? projects : 1) * unmerged * costOfUnmerged
  return { lookUp: chosen.join(' & '), byProject, found, cost: found + lookUps + pending }
}

const frequencies = (
  words: IndexWord[],
  sample: Pick<Sample, 'words' | 'documents'>,
  { words: inAll, total }: Sizes,
): Frequent[] =>
  words.map((word, n) => {
    const inSample = frequency(sample.words[n]!, sample.documents)
    const atLeast = word.isPrefix && word.text.length < minPrefixText ? shortPrefixFrequency : 0
    return { ...word, frequency: inSample, everywhere: Math.max(inSample, inAll[n]! / total, atLeast) }
  })

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

/** The second window is for a sample with too few hits by chance. */
function windowsFor({ documents, hits, rate, topMs }: Sample, wanted: number, maxCost: number): Window[] {
  // The fewer hits the sample has, the more documents the window has in reserve.
  const needed = (wanted / frequency(hits, documents)) * (1 + 2 / Math.sqrt(hits)) + wanted
  return [needed, 2 * needed].flatMap((size) => {
    if (!(size < Math.min(maxCost, maxWindow))) return []
    // Few documents in many years would need a time that Postgres or `Date` rejects.
    const sinceMs = Math.max(0, topMs - (size / rate) * 1_000)
    return [{ since: new Date(sinceMs).toISOString(), documents: 2 * Math.ceil(size) }]
  })
}
