import { caseless } from '../../../../src/schema/text.ts'
import type { TaskItem } from '../../items.ts'
import { byWord } from '../../convert/words.ts'

type Priority = NonNullable<TaskItem['priority']>

const priorities = byWord<Priority>({
  HIGH: 'high,highest,urgent,important,critical,blocker,very high,p0,p1,alta,más alta,hoch,höchste',
  MEDIUM: 'medium,normal,moderate,major,p2,media,mittel',
  LOW: 'low,lowest,minor,trivial,very low,p3,p4,baja,más baja,niedrig,niedrigste',
})
const noPriority = 'none,no priority,not set,unset,0'.split(',')

/** The priorities that a system writes as numbers. */
export type Priorities = Record<string, Priority | undefined>

/** Returns undefined for words that mean no priority, and null for unknown words. */
export function priorityOf(text: string, own: Priorities = {}): Priority | undefined | null {
  if (Object.hasOwn(own, text)) return own[text]
  const word = caseless(text)
  return noPriority.includes(word) ? undefined : (priorities.get(word) ?? null)
}

export const listOf = (text: string, separator = /[,;\n]/): string[] =>
  text
    .split(separator)
    .map((part) => part.trim())
    .filter((part) => part !== '')

/** Reads lines such as `- [x] Oil the wheels`, `☑ Oil the wheels` and `Oil the wheels`. */
export function subtasksOf(text: string): { title: string; completed: boolean }[] {
  return listOf(text, /\n/).flatMap((line) => {
    const [, mark = '', title = ''] = /^(?:[-*•]\s+)?(\[[ xX]?\]|[☐☑✓✔▫▪])?\s*(.*)$/su.exec(line) ?? []
    return title === '' ? [] : { title, completed: /[xX☑✓✔▪]/u.test(mark) }
  })
}

export type Answer = 'yes' | 'no' | 'other'

/** In English, German, French, Spanish, Portuguese, Italian and Dutch, as spreadsheets write them too. */
const answers = byWord<Exclude<Answer, 'other'>>({
  no: 'no,n,false,0,0%,open,incomplete,-,nein,falsch,non,faux,falso,não,nee,onwaar',
  yes: 'yes,y,true,1,100%,x,done,complete,completed,✓,✔,☑,ja,wahr,oui,vrai,sí,si,verdadero,sim,verdadeiro,sì,vero,waar',
})

export const answerOf = (text: string): Answer => answers.get(caseless(text)) ?? 'other'

/** Names in Docket have no line breaks or other control characters. */
export const oneLine = (text: string): string => text.replace(/[\s\p{Cc}]+/gu, ' ').trim()
