import { caseless } from '../../../../src/schema/text.ts'
import { type CellComment, readPerson } from '../../../exports/cells.ts'
import { byWord } from '../../convert/texts.ts'
import type { TaskItem } from '../../items.ts'
import { parseObject } from '../../parse-object.ts'
import { clockIn, type Dates } from './dates.ts'

type Priority = NonNullable<TaskItem['priority']>

/** The words for priorities in English, Spanish, German, French, Portuguese and Polish. */
const knownPriority = byWord<Priority>(
  {
    HIGH: `high,highest,urgent,important,critical,blocker,very high,immediate,show-stopper,showstopper,p0,p1,alta,más alta,muy alta,crítica,urgente,hoch,
    höchste,sehr hoch,kritisch,dringend,haute,la plus haute,très haute,élevé,élevée,très élevée,la plus élevée,critique,mais alta,
    altíssima,muito alta,alto,haut,immédiat,sofort,inmediata,imediata,wichtig,importante,impedimento,bloquant,wysoki,wysoka,najwyższy,najwyższa,krytyczny,pilny`,
    MEDIUM:
      'medium,med,mid,normal,moderate,major,majeur,mayor,p2,media,mittel,moyenne,normale,média,médio,moyen,średni,średnia,normalny',
    LOW: `low,lowest,minor,mineur,menor,trivial,very low,p3,p4,p5,baja,más baja,muy baja,niedrig,niedrigste,gering,basse,la plus basse,très basse,
    faible,la plus faible,bas,bajo,baixo,baixa,mais baixa,baixíssima,muito baixa,niski,niska,najniższy,najniższa`,
  },
  true,
)
const noPriority = 'none,no priority,not set,unset,0,-,--,---'.split(',')

/** The priorities that a system writes as numbers. */
export type Priorities = Record<string, Priority | undefined>

/** Returns undefined for words that mean no priority, and null for unknown words. */
export function priorityOf(text: string, own: Priorities = {}): Priority | undefined | null {
  if (Object.hasOwn(own, text)) return own[text]
  const word = caseless(text)
  if (noPriority.includes(word)) return undefined
  // The priorities in a text such as `1 - Critical` or `P2 (Medium)`.
  const inText = new Set(word.split(/[^\p{L}\p{N}]+/u).flatMap((part) => knownPriority(part) ?? []))
  return knownPriority(word) ?? (inText.size === 1 ? [...inText][0]! : null)
}

export const listOf = (text: string, separator = /[,;\n]/): string[] =>
  text
    .split(separator)
    .map((part) => part.trim())
    .filter((part) => part !== '')

/** Reads `[brand,ui]` of ClickUp, `["brand","ui"]` of Plane, and `['brand','ui']`. Returns undefined for a text without brackets. */
export function bracketedList(text: string): string[] | undefined {
  const [, inside] = /^\s*\[(.*)\]\s*$/s.exec(text) ?? []
  if (inside === undefined) return undefined
  const { list } = parseObject(`{"list":${text}}`) ?? {}
  if (!Array.isArray(list)) return listOf(inside).map((one) => /^'(.*)'$/.exec(one)?.[1] ?? one)
  return list.filter((one) => typeof one === 'string').flatMap((one) => one.trim() || [])
}

/** Reads lines such as `- [x] Oil the wheels`, `☑ Oil the wheels` and `Oil the wheels`, or lists in JSON as ClickUp writes them. */
export function subtasksOf(text: string): { title: string; completed: boolean }[] {
  const lists = /^\s*\{/.test(text) ? Object.values(parseObject(text) ?? {}) : []
  const items = lists.flat().filter((item) => typeof item === 'string')
  return (items.length > 0 ? items : listOf(text, /\n/)).flatMap((line) => {
    const [, mark = '', title = ''] = /^(?:[-*•]\s+)?(\[[ xX]?\]|[☐☑✓✔▫▪])?\s*(.*)$/su.exec(line) ?? []
    return title === '' ? [] : { title, completed: /[xX☑✓✔▪]/u.test(mark) }
  })
}

type Answer = 'yes' | 'no' | 'other'

/**
 * The answers yes and no in English, German, French, Spanish, Portuguese, Italian, Dutch and Polish, also TRUE and
 * FALSE as spreadsheets write them.
 */
const knownAnswer = byWord<Exclude<Answer, 'other'>>({
  no: 'no,n,false,f,off,unchecked,open,incomplete,-,[],[ ],☐,❌,nein,falsch,non,faux,falso,não,nee,onwaar,nie',
  yes: 'yes,y,true,t,on,checked,x,[x],done,complete,completed,✓,✔,☑,✅,ja,wahr,oui,vrai,sí,si,verdadero,sim,verdadeiro,sì,vero,waar,tak',
})

/** Returns whether a task is completed. In a column of percentages, only 100 means yes. Elsewhere, 1 and 100 % mean yes. */
export function answerOf(text: string, header: string): Answer {
  const [, digits, percent] = /^([+-]?\d+(?:[.,]\d+)?)\s*(%?)$/.exec(text) ?? []
  if (digits === undefined) return knownAnswer(text) ?? 'other'
  const number = Number(digits.replace(',', '.'))
  const whole = percent || /%|\bpercent/i.test(header) ? 100 : 1
  return number === whole ? 'yes' : number === 0 ? 'no' : 'other'
}

const nobody = /^\s*(unassigned|not assigned|nobody|no one|none|n\/a|-)\s*$/i

/**
 * Returns the people in a cell. ClickUp writes `[Ada,Bob]`. `Ada, Bob` under `Owners` are two people, and `Lovelace, Ada`
 * under `Owner` is one person.
 */
export function assigneesOf(text: string, header: string): string[] {
  if (nobody.test(text)) return []
  const inBrackets = bracketedList(text)
  if (inBrackets?.length) return inBrackets
  const listed = listOf(text, /[;\n]/)
  const people = listed.length > 1 ? [] : listOf(text, /,/)
  const isList =
    /^assign$|(assignees|owners|people|persons|names|members)$/.test(header) ||
    people.every((one) => /\S(\s+\S|@)/.test(one))
  return isList && people.length > 1 ? people : listed
}

/** Names in Docket have no line breaks or other control characters. */
export const oneLine = (text: string): string => text.replace(/[\s\p{Cc}]+/gu, ' ').trim()

export const short = (text: string) => (text.length > 100 ? `${text.slice(0, 100)}…` : text)

/** Returns a line for the report. @param date the part of the text that is the date */
export const unreadDate = (text: string, date = text): string =>
  `The date "${short(text)}" cannot be read: ${adviceFor(date.trim())}`

function adviceFor(date: string): string {
  // Spreadsheets store a date as the number of its day.
  if (/^\d{5}([.,]\d+)?$/.test(date)) return 'format the column of the spreadsheet as dates'
  if (/^(\p{L}{3,10}\.? \d{1,2}|\d{1,2}\.? \p{L}{3,10}|\d{1,2}[./]\d{1,2}\.?)$/u.test(date))
    return 'it has no year'
  if (date.length < 100 && clockIn(date)?.zone === null) return 'its time zone is not known'
  if (!/\d.*\d.*\d/s.test(date)) return 'it has no day, month and year'
  return 'send mapping.dateFormat, such as DD/MM/YYYY'
}

const names = {
  text: ['text', 'comment', 'body', 'content', 'comment_text'],
  author: ['by', 'author', 'user', 'username', 'email', 'created_by'],
  date: ['date', 'created', 'created_at', 'createdAt', 'time'],
}

/**
 * Reads a list of comments as JSON, such as `[{"text":"In brass","by":"ada@example.com","date":"1791288000000"}]`.
 * Returns undefined for another text. @param messages gets a line for each date that cannot be read
 */
export function jsonComments(text: string, dates: Dates, messages: string[]): CellComment[] | undefined {
  if (!/^\s*\[\s*\{/.test(text)) return undefined
  const { list } = parseObject(`{"list":${text}}`) ?? {}
  if (!Array.isArray(list)) return undefined
  const comments = list.map((one: Record<string, unknown>) => {
    const [content, author, date] = [names.text, names.author, names.date].map((keys) =>
      keys.map((key) => one?.[key]).find((value) => value != null && value !== ''),
    )
    if (typeof content !== 'string') return undefined
    const createdAt = date ? dates.read(String(date).trim()) : undefined
    if (date && !createdAt) messages.push(`A comment: ${unreadDate(String(date))}`)
    const person = typeof author === 'string' ? readPerson(oneLine(author)) : undefined
    return { text: content, ...(createdAt && { createdAt }), ...(person && { author: person }) }
  })
  return comments.every((one) => one !== undefined) ? comments : undefined
}
