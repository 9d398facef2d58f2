import { type SampledTask, type SearchData, searchSizes } from './search-data.ts'

export const scopes = ['small', 'large', 'twenty', 'all'] as const
export type ScopeName = (typeof scopes)[number]

interface SearchKind {
  title: string
  text(task: SampledTask): string
  path?: string
}

const below = (n: number) => Math.floor(Math.random() * n)
const oneOf = <T>(items: T[]): T => items[below(items.length)]!
const wordOf = ({ words }: SampledTask) => oneOf(words)
const start = (length: number) => (task: SampledTask) => wordOf(task).slice(0, length)
const several = (count: number) => (task: SampledTask) =>
  Array.from({ length: count }, () => wordOf(task)).join(' ')

/** Returns neighbouring words, from the title or from the description. */
function phrase(count: number) {
  return ({ words }: SampledTask): string => {
    const { titleWords } = searchSizes
    const isInTitle = Math.random() < 0.2
    const from = isInTitle
      ? below(titleWords - count + 1)
      : titleWords + below(words.length - titleWords - count + 1)
    return `"${words.slice(from, from + count).join(' ')}"`
  }
}

/** No word has a "q", so only similar titles are found. */
function misspelled({ words }: SampledTask): string {
  const title = words.slice(0, searchSizes.titleWords).filter(({ length }) => length > 5)
  const word = title.length > 0 ? oneOf(title) : 'loruparo'
  const at = 2 + below(word.length - 3)
  return `${word.slice(0, at)}q${word.slice(at + 1)}`
}

export const kinds: SearchKind[] = [
  { title: 'a word', text: (task) => `"${wordOf(task)}"` },
  { title: 'two words, the last a prefix', text: several(2) },
  { title: 'three words, the last a prefix', text: several(3) },
  { title: 'phrase of two words', text: phrase(2) },
  { title: 'phrase of three words', text: phrase(3) },
  ...[1, 2, 3, 4, 5].map((length) => ({ title: `prefix, ${length} letters`, text: start(length) })),
  { title: 'a word and a letter', text: (task) => `${wordOf(task)} ${start(1)(task)}` },
  { title: 'a word without another', text: ({ words }) => `"${words[below(23)]}" -${words[23 + below(23)]}` },
  { title: 'misspelled: similar titles', text: misspelled },
  { title: 'GET /tasks?q=, two words', text: several(2), path: '/tasks' },
]

export interface SearchRequest {
  token: string
  path: string
}

/** Returns searches with the words of tasks in the scope. */
export function openSearches({ owner, member, projects, sampled }: SearchData) {
  const within: Record<ScopeName, (project: number) => boolean> = {
    small: (project) => project > 0,
    large: (project) => project === 0,
    twenty: (project) => project > 0 && project <= 20,
    all: () => true,
  }
  const tasks = new Map(scopes.map((one) => [one, sampled.filter(({ project }) => within[one](project))]))
  return (scope: ScopeName, { text, path = '/search' }: SearchKind): SearchRequest => {
    const task = oneOf(tasks.get(scope)!)
    const isOne = scope === 'small' || scope === 'large'
    const query = new URLSearchParams({
      q: text(task),
      ...(isOne && { projectId: projects[task.project]! }),
    })
    return { token: (scope === 'twenty' ? member : owner).token!, path: `${path}?${query}` }
  }
}
