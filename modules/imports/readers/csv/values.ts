import { caseless } from '../../../../src/schema/text.ts'
import { type CellComment, readPerson } from '../../../exports/cells.ts'
import { byWord } from '../../convert/texts.ts'
import type { TaskItem } from '../../items.ts'
import { parseObject } from '../../parse-object.ts'
import words from '../../words.json' with { type: 'json' }
import { clockIn, type Dates } from './dates.ts'

type Priority = NonNullable<TaskItem['priority']>

const knownPriority = byWord<Priority>(words.priorities, true)
const noPriority = 'none,no priority,not set,unset,0,-,--,---'.split(',')

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

/** Returns the list in a text such as `["brand","ui"]`; undefined for another text. */
const jsonList = (text: string): unknown[] | undefined => {
  const { list } = /^\s*\[/.test(text) ? (parseObject(`{"list":${text}}`) ?? {}) : {}
  return Array.isArray(list) ? list : undefined
}

/** Reads `[brand,ui]` of ClickUp, `["brand","ui"]` of Plane, and `['brand','ui']`. Returns undefined for a text without brackets. */
export function bracketedList(text: string): string[] | undefined {
  const [, inside] = /^\s*\[(.*)\]\s*$/s.exec(text) ?? []
  if (inside === undefined) return undefined
  const list = jsonList(text)?.filter((one) => typeof one === 'string')
  return list
    ? list.flatMap((one) => one.trim() || [])
    : listOf(inside).map((one) => /^'(.*)'$/.exec(one)?.[1] ?? one)
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

const knownAnswer = byWord<'yes' | 'no'>(words.answers)

/** Returns whether a task is completed. In a column of percentages, only 100 means yes. Elsewhere, 1 and 100 % mean yes. */
export function answerOf(text: string, header: string): 'yes' | 'no' | 'other' {
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

const commentKeys = [
  ['text', 'comment', 'body', 'content', 'comment_text'],
  ['by', 'author', 'user', 'username', 'email', 'created_by'],
  ['date', 'created', 'created_at', 'createdAt', 'time'],
]

/**
 * Reads a list of comments as JSON, such as `[{"text":"In brass","by":"ada@example.com","date":"1791288000000"}]`.
 * Returns undefined for another text. @param messages gets a line for each date that cannot be read
 */
export function jsonComments(text: string, dates: Dates, messages: string[]): CellComment[] | undefined {
  const list = jsonList(text) as Record<string, unknown>[] | undefined
  const comments = list?.flatMap((one): CellComment | [] => {
    const [content, author, date] = commentKeys.map((keys) =>
      keys.map((key) => one?.[key]).find((value) => value != null && value !== ''),
    )
    if (typeof content !== 'string') return []
    const createdAt = date ? dates.read(String(date).trim()) : undefined
    if (date && !createdAt) messages.push(`A comment: ${unreadDate(String(date))}`)
    return {
      ...{ text: content, createdAt },
      author: typeof author === 'string' ? readPerson(oneLine(author)) : undefined,
    }
  })
  return comments?.length === list?.length ? comments : undefined
}
