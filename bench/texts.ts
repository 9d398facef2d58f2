import { Random } from '../test/faults/random.ts'

const wordCount = 60_000
const syllables = 'ba ne ti ro ka mu se lo di pa ve gi fo ru ta xe ly wo hi cu'.split(' ')
const endings = 'nsrt'

/** Returns a function that returns words whose frequencies follow the law of Zipf; the same words in each run. */
export function openTexts(): (count: number) => string[] {
  const random = new Random(12_345)
  const words = new Set<string>()
  while (words.size < wordCount) {
    const length = 1 + random.below(4) + (words.size > 200 ? 1 : 0)
    const stem = Array.from({ length }, () => syllables[random.below(syllables.length)]).join('')
    words.add(stem + (random.chance(0.3) ? endings[random.below(endings.length)] : ''))
  }
  const list = [...words]
  // The sum of 1 / n is nearly the logarithm of n, so an equal choice of logarithms takes word n with the weight 1 / n.
  const word = () => list[Math.floor(wordCount ** random.next()) - 1]!
  return (count) => Array.from({ length: count }, word)
}
