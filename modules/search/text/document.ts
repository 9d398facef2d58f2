import { wordsOf, wordTextsOf } from './words.ts'

/** D is the default and has no letter. */
type Weight = 'A' | 'B' | ''

/** Returns the tsvector text of a task: its number and title with weight A, its description with weight D. */
export const taskDocument = (task: { number: number; title: string; description: string | null }): string =>
  `'#${task.number}':1A ${documentOf(task.title, task.description, 1)}`

/** Returns the tsvector text of a project, whose name counts as its title. */
export const projectDocument = (project: { name: string; description: string | null }): string =>
  documentOf(project.name, project.description)

/** Returns the tsvector text of a comment, with weight B. */
export const commentDocument = ({ text }: { text: string }): string => lexemesOf(wordTextsOf(text), 'B', 0)

/** Returns the tsvector text of a subtask, with weight B. */
export const subtaskDocument = ({ title }: { title: string }): string => lexemesOf(wordTextsOf(title), 'B', 0)

/** Returns the distinct words of a title that are compared with misspelt words of searches. */
export const titleWords = (title: string): string[] => {
  const words = wordsOf(title).filter(({ text, isDense }) => !isDense && isComparable(text))
  return [...new Set(words.map(({ text }) => text))]
}

/** Shorter words and numbers resemble too many others. */
export const isComparable = (word: string): boolean => word.length >= 3 && !/^\d+$/.test(word)

function documentOf(title: string, description: string | null, position = 0): string {
  const words = wordTextsOf(title)
  const text = lexemesOf(words, 'A', position)
  // The gap of one position prevents phrases that begin in the title and end in the description.
  return description ? text + lexemesOf(wordTextsOf(description), '', position + words.length + 1) : text
}

/** Postgres stores no higher position: it takes a higher one as this one. */
const maxPosition = 16_383
const labels: Record<Weight, string[]> = { A: [], B: [], '': [] }

/** Words consist of letters and digits, so nothing needs to be escaped between the quotes. */
function lexemesOf(words: string[], weight: Weight, before: number): string {
  const label = labels[weight]
  let result = ''
  for (const [n, word] of words.entries()) {
    const position = Math.min(before + n + 1, maxPosition)
    result += `'${word}${(label[position] ??= `':${position}${weight} `)}`
  }
  return result
}
