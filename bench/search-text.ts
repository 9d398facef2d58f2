import { Random } from '../test/faults/random.ts'

const wordCount = 60_000
const syllables = 'ba ne ti ro ka mu se lo di pa ve gi fo ru ta xe ly wo hi cu'.split(' ')
const endings = 'nsrt'

export interface TextSource {
  words: string[]
  /** Returns words whose frequencies follow the law of Zipf: word n is n times as rare as the first word. */
  text(count: number): string[]
}

/** Returns the same invented words and texts in each run. */
export function openTexts(): TextSource {
  const random = new Random(12_345)
  const words = new Set<string>()
  while (words.size < wordCount) {
    const length = 1 + random.below(4) + (words.size > 200 ? 1 : 0)
    const stem = Array.from({ length }, () => syllables[random.below(syllables.length)]).join('')
    words.add(stem + (random.chance(0.3) ? endings[random.below(endings.length)] : ''))
  }
  const list = [...words]
  const sums = new Float64Array(wordCount)
  list.forEach((_, n) => (sums[n] = (sums[n - 1] ?? 0) + 1 / (n + 1)))
  const word = () => list[firstAbove(sums, random.next() * sums.at(-1)!)]!
  return { words: list, text: (count) => Array.from({ length: count }, word) }
}

function firstAbove(sums: Float64Array, value: number): number {
  let [low, high] = [0, sums.length - 1]
  while (low < high) {
    const middle = (low + high) >> 1
    if (sums[middle]! < value) low = middle + 1
    else high = middle
  }
  return low
}
