import type { TaskItem } from '../../items.ts'

type Priority = NonNullable<TaskItem['priority']>

const priorities: Record<Priority, string> = {
  HIGH: 'high,highest,urgent,critical,blocker,very high,p0,p1',
  MEDIUM: 'medium,normal,moderate,major,p2',
  LOW: 'low,lowest,minor,trivial,very low,p3,p4',
}
const noPriority = 'none,no priority,not set,unset,0'.split(',')
const byWord = new Map(
  (Object.entries(priorities) as [Priority, string][]).flatMap(([priority, names]) =>
    names.split(',').map((name) => [name, priority] as const),
  ),
)

/** The priorities of a system that are numbers. */
export type Priorities = Record<string, Priority | undefined>

/** Returns undefined for the words of no priority, and null for unknown words. */
export function priorityOf(text: string, own: Priorities = {}): Priority | undefined | null {
  if (Object.hasOwn(own, text)) return own[text]
  const word = text.toLowerCase()
  return noPriority.includes(word) ? undefined : (byWord.get(word) ?? null)
}

export const listOf = (text: string, separator = /[,;\n]/): string[] =>
  text
    .split(separator)
    .map((part) => part.trim())
    .filter((part) => part !== '')

/** Reads lines such as `- [x] Oil the wheels`, `☑ Oil the wheels` and `Oil the wheels`. */
export function subtasksOf(text: string): { title: string; completed: boolean }[] {
  return listOf(text, /\n/).flatMap((line) => {
    const [, mark = '', title = ''] = /^(?:[-*•]\s+)?(\[[ xX]?\]|[☐☑✓✔▫▪])?\s*(.*)$/u.exec(line) ?? []
    return title === '' ? [] : { title, completed: /[xX☑✓✔▪]/u.test(mark) }
  })
}

export type Answer = 'yes' | 'no' | 'other'

export function answerOf(text: string): Answer {
  if (/^(no|n|false|0|open|incomplete|-)$/i.test(text)) return 'no'
  return /^(yes|y|true|1|x|done|complete|completed|✓|✔|☑)$/iu.test(text) ? 'yes' : 'other'
}

/** Names in Docket have no line breaks or other control characters. */
export const oneLine = (text: string): string => text.replace(/[\s\p{Cc}]+/gu, ' ').trim()
