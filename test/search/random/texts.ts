import { type Random, words } from '../../kit.ts'
import type { Doc } from './corpus.ts'

/** Few words, so that a query has hits in several texts, and words that begin alike. */
const vocabulary = words(
  `plate plates Plated wheel wheels brass brassy oil OIL oiled Größe GROESSE grosse Ærø ærø smørrebrød naïve NAIVE
  l'été ete Łódź lodz foo-bar foo bar foobar v1.2.3 v1 2 3 42 421 snake_case snake case a.b@c.de https://docket.example/x?y=z
  図面確認 図面 確認書 漢字かな カタカナ 한국어 한국 οδός ΟΔΌΣ Ёлка ёлка елка مرحبا नमस्ते שלום ไทย ２０２６ 2026 ﬁne fine ½ Ⅳ iv
  İstanbul istanbul ısı a an the C++ C# x`,
)
const gaps = [' ', ' ', ' ', ', ', '. ', '\n', ' / ', ' — ', ' 🚀 ']

const wordOf = (random: Random) => random.pick(vocabulary)!

/** Returns a text of 1 to `most` words. */
export function randomText(random: Random, most: number): string {
  let text = wordOf(random)
  for (let left = random.below(most); left > 0; left--) text += random.pick(gaps)! + wordOf(random)
  return text
}

/** A title has one line. */
export const randomTitle = (random: Random, most = 5): string =>
  randomText(random, most).replaceAll('\n', ' ')

/** Returns the words of a text as a client would type them. */
const typed = ({ title, text }: Doc) =>
  words(`${title} ${text}`).filter((word) => /^[\p{L}\p{N}][^"]*$/u.test(word))

const beginning = (random: Random, word: string): string => {
  const characters = [...word]
  return characters.slice(0, 1 + random.below(characters.length)).join('')
}

const changedCase = (random: Random, word: string) =>
  random.chance(0.2) ? (random.chance(0.5) ? word.toLowerCase() : word.toUpperCase()) : word

function phraseOf(random: Random, own: string[]): string {
  const from = random.below(own.length)
  return `"${own.slice(from, from + 1 + random.below(3)).join(' ')}"`
}

/** Returns a query that usually has hits: its words are of `doc`, a current or an earlier row. */
export function randomQuery(random: Random, doc: Doc): string {
  const own = typed(doc)
  if (own.length === 0 || random.chance(0.05)) return wordOf(random)
  if (random.chance(0.06)) return random.pick([doc.id, doc.id.toUpperCase(), doc.externalId ?? doc.id])!
  const word = () => changedCase(random, random.chance(0.85) ? random.pick(own)! : wordOf(random))
  const terms = [random.chance(0.3) ? phraseOf(random, own) : word()]
  while (random.chance(0.4)) terms.push(random.chance(0.2) ? phraseOf(random, own) : word())
  if (random.chance(0.15)) terms.push(`-${random.chance(0.3) ? `"${wordOf(random)}"` : wordOf(random)}`)
  if (doc.number && random.chance(0.1)) terms.push(`#${doc.number}`)
  const shuffled = random.shuffled(terms)
  const last = shuffled.at(-1)!
  if (!/^[-"#]/.test(last) && random.chance(0.5)) shuffled.splice(-1, 1, beginning(random, last))
  return shuffled.join(' ')
}
