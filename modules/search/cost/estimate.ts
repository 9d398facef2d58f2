import {
  cheapestLookUp,
  everywhere,
  type Frequent,
  type IndexWord,
  type LookUp,
  type Sizes,
} from './look-up.ts'

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

export interface Window {
  since: string
  /** The most documents of each project. */
  documents: number
}

export interface Plan extends LookUp {
  /** Whether it is cheaper to read all documents of the scope, without the index of words. */
  readsAll: boolean
  /** Windows of time that probably contain enough hits, and cost less than the look-up. */
  windows: Window[]
  /** The time after which the look-up probably finds enough hits. */
  since?: string
}

/** A window of this many documents is always cheap enough; a larger one than `maxWindow` never is. */
const cheapWindow = 2_000
const maxWindow = 60_000
/**
 * In the order of time, a document takes 0.8 µs; by the index of words 1.3 times as much in one project, 2 to 5 µs in the
 * whole index (measured), because most documents are in other pages.
 */
const costOfLookUp = { byProject: 1.3, inAll: 2.5 }
/** So many documents are always read without the index: the look-up may cost more, by what other projects contain. */
const cheapScope = 5_000

/** A look-up that finds more documents is first limited to the newest documents: Postgres then combines two indexes. */
const manyFound = 10_000

/** A look-up of at most this cost needs no sample, unless reading all documents of the scope costs less. */
const cheapLookUp = 5_000
/** Without a sample, a word may be this many times as frequent in the scope as in all documents. */
const maxConcentration = 3
/** Without a sample, a prefix of less than 5 letters is expected in this part of all documents. */
const prefixFrequency = 0.02
const minPrefixText = 9

const frequency = (count: number, documents: number) => (count + 0.3) / documents

/** Returns a cheap look-up by the statistics. Undefined if the words may be so frequent that a sample of documents helps. */
export function planWithoutSample(words: IndexWord[], sizes: Sizes, maxFound?: number): LookUp | undefined {
  const concentration = Math.min(maxConcentration, sizes.total / sizes.inScope)
  const inAll = everywhere(words, sizes)
  const frequent = words.map((word, n) => {
    const isShort = word.isPrefix && word.text.length < minPrefixText
    const everywhere = Math.max(inAll[n]!, isShort ? prefixFrequency : 0)
    return { ...word, frequency: Math.min(1, everywhere * concentration), everywhere }
  })
  const plan = cheapestLookUp(frequent, sizes, maxFound)
  return plan.cost <= Math.min(cheapLookUp, sizes.inScope) ? plan : undefined
}

/** Chooses the cheapest way to find `wanted` hits. Every choice finds the same hits. */
export function planSearch(
  words: IndexWord[],
  sample: Sample,
  sizes: Sizes,
  wanted: number,
  maxFound?: number,
): Plan {
  const lookUp = cheapestLookUp(frequencies(words, sample, sizes), sizes, maxFound)
  const readsAll = isCheaper(sizes, lookUp)
  const maxCost = readsAll ? sizes.inScope : Math.max(cheapWindow, costOf(lookUp))
  const sizesOfWindows = windowSizes(sample, wanted)
  const windows = sizesOfWindows.filter((size) => size < Math.min(maxCost, maxWindow))
  const isLarge = lookUp.found > manyFound && sizesOfWindows[0] < sizes.inScope / 2
  return {
    ...lookUp,
    readsAll,
    windows: windows.map((size) => ({ since: sinceOf(sample, size), documents: 2 * Math.ceil(size) })),
    ...(isLarge && { since: sinceOf(sample, sizesOfWindows[0]) }),
  }
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
  return cheapest && { ...cheapest, readsAll: isCheaper(sizes, cheapest) }
}

/** Returns the cost as a number of documents in the order of time. */
const costOf = ({ byProject, cost }: LookUp) => cost * costOfLookUp[byProject ? 'byProject' : 'inAll']

const isCheaper = ({ inScope }: Sizes, lookUp: LookUp) =>
  inScope <= cheapScope || inScope <= Math.min(costOf(lookUp), maxWindow)

function frequencies(
  words: IndexWord[],
  sample: Pick<Sample, 'words' | 'documents'>,
  sizes: Sizes,
): Frequent[] {
  const inAll = everywhere(words, sizes)
  return words.map((word, n) => {
    const inSample = frequency(sample.words[n]!, sample.documents)
    return { ...word, frequency: inSample, everywhere: Math.max(inSample, inAll[n]!) }
  })
}

/** Returns how many documents probably contain enough hits, and a number for a sample with too few hits by chance. */
function windowSizes({ documents, hits }: Sample, wanted: number): [number, number] {
  // The fewer hits the sample has, the more documents the window has in reserve.
  const needed = (wanted / frequency(hits, documents)) * (1 + 2 / Math.sqrt(hits)) + wanted
  return [needed, 2 * needed]
}

/** Few documents in many years would need a time that Postgres or `Date` rejects. */
const sinceOf = ({ topMs, rate }: Sample, documents: number) =>
  new Date(Math.max(0, topMs - (documents / rate) * 1_000)).toISOString()
