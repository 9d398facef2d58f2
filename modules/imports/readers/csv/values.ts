import { caseless } from '../../../../src/schema/input.ts'
import { readPerson } from '../../../exports/cells.ts'
import { DigestKeys, KeyMap, shortKey } from '../../convert/keys.ts'
import { byWord } from '../../convert/texts.ts'
import type { TaskItem } from '../../items.ts'
import { Entry, isObject, type Json, parseObject } from '../json-file.ts'
import words from '../../words.json' with { type: 'json' }
import { isDate } from './dates.ts'

/** NONE has the words that mean no priority. */
type Priority = NonNullable<TaskItem['priority']> | 'NONE'
export type Priorities = Record<string, Priority>

const knownPriority = byWord<Priority>(words.priorities, true)

/** @param own the priorities in the files of a source */
export function priorityOf(text: string, own: Priorities = {}): Priority | undefined {
  if (Object.hasOwn(own, text)) return own[text]
  const word = caseless(text)
  // The priorities in a text such as `1 - Critical` or `P2 (Medium)`.
  const inText = new Set(word.split(/[^\p{L}\p{N}]+/u).flatMap((part) => knownPriority(part) ?? []))
  inText.delete('NONE')
  return knownPriority(word) ?? (inText.size === 1 ? [...inText][0] : undefined)
}

export const listOf = (text: string, separator = /[,;\n]/): string[] =>
  text.split(separator).flatMap((part) => part.trim() || [])

/** Returns the list in a text such as `["brand","ui"]`; undefined for another text. */
function jsonList(text: string): Json[] | undefined {
  const { list } = /^\s*\[/.test(text) ? (parseObject(`{"list":${text}}`) ?? {}) : {}
  return Array.isArray(list) ? list : undefined
}

/** Reads `[brand,ui]` of ClickUp, `["brand","ui"]` of Plane, and `['brand','ui']`. Returns undefined for a text without brackets. */
export function bracketedList(text: string): string[] | undefined {
  const [, inside] = /^\s*\[(.*)\]\s*$/s.exec(text) ?? []
  if (inside === undefined) return undefined
  const list = jsonList(text) ?? listOf(inside).map((one) => /^'(.*)'$/.exec(one)?.[1] ?? one)
  return list.flatMap((one) => (typeof one === 'string' && one.trim()) || [])
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

/**
 * Returns the people in a cell. ClickUp writes `[Ada,Bob]`. `Ada, Bob` under `Owners` are two people, and `Lovelace, Ada`
 * under `Owner` is one person.
 */
export function assigneesOf(text: string, header: string): string[] {
  if (/^\s*(unassigned|not assigned|nobody|no one|none|n\/a|-)\s*$/i.test(text)) return []
  const inBrackets = bracketedList(text)
  if (inBrackets?.length) return inBrackets
  const listed = listOf(text, /[;\n]/)
  const people = listed.length > 1 ? [] : listOf(text, /,/)
  const isList = /s$|^assign$/.test(header) || people.every((one) => /\S(\s+\S|@)/.test(one))
  return isList && people.length > 1 ? people : listed
}

/** Names in Docket have no line breaks or other control characters. */
export const oneLine = (text: string): string => text.replace(/[\s\p{Cc}]+/gu, ' ').trim()

/** Returns the texts of a comment in JSON, of which the first is the comment. A comment that is only a picture has a blank one. */
const textsOf = ({ value }: Entry): string[] =>
  ['text', 'comment', 'body', 'content', 'comment_text']
    .map((key) => value[key])
    .filter((one) => typeof one === 'string')

/**
 * Reads comments that do not have the form of our exports: `14/Mar/26 2:15 PM;Ada;The text` of Jira, or a list in JSON such
 * as `[{"text":"In brass","by":"ada@example.com","date":"1791288000000"}]`. Returns undefined for another text.
 */
export function foreignComments(text: string, haveDates = false) {
  const [, date = '', name = '', content = ''] = /^([^;\n]+);([^;\n]*);\s*(\S.*)$/s.exec(text.trim()) ?? []
  if (haveDates && isDate(date.trim()))
    return [{ text: content, author: readPerson(name), date: date.trim() }]
  const all = jsonList(text)?.map((one) => new Entry('', '', isObject(one) ? one : {}, 0))
  if (!all?.every((one) => textsOf(one).length > 0)) return undefined
  return all.map((one) => {
    const by = one.get('by|author|user|username|email|created_by')
    const author = typeof by === 'string' ? readPerson(oneLine(by)) : undefined
    const date = one.text('date|created|created_at|createdAt|time') ?? ''
    return { text: textsOf(one).find((text) => text.trim() !== '') ?? '', author, date: date.trim() }
  })
}

/** In a list with more than `maxSearched` parts, titles with separators are not searched. */
const [maxTitleParts, maxSearched] = [10, 1_000]

/** The keys of tasks by the names by which rows refer to them: titles, or ids other than the keys. */
export class References {
  private readonly keys = new KeyMap<string>()

  /**
   * @param key '' for a task without an id: its digest is not stored, because a file may have a million titles
   * @param replaces true if the name means this task from now on; false if it means the first task with the name
   */
  add(given: string, key: string, replaces = false): void {
    const name = oneLine(given)
    if (replaces || this.keys.get(name) === undefined) this.keys.set(name, shortKey(oneLine(key)))
  }

  find(reference: string): string | undefined {
    // Notion writes a title and an address, such as `Draw (https://…)`.
    const end = reference.endsWith(')') ? reference.lastIndexOf(' (') : -1
    const isPage = end > 0 && /:\/\/|\.md|\.csv/.test(reference.slice(end))
    const name = isPage ? reference.slice(0, end) : reference
    const key = this.keys.get(name)
    return key === '' ? new DigestKeys().next(name) : key
  }

  /** Returns the references in a list. A title may contain separators: of several matches, the longest title is used. */
  referencesIn(list: string): { text: string; key: string | undefined }[] {
    // Separators are parts too.
    const parts = list.split(/([,;\n])/)
    const maxParts = parts.length > 2 * maxSearched ? 1 : 2 * maxTitleParts - 1
    const found: { text: string; key: string | undefined }[] = []
    for (let start = 0, end = 0; start < parts.length; start = end + 1) {
      const textTo = (last: number) => oneLine(parts.slice(start, last).join(''))
      end = Math.min(start + maxParts, parts.length)
      while (end > start + 1 && this.find(textTo(end)) === undefined) end -= 2
      const text = textTo(end)
      if (text !== '') found.push({ text, key: this.find(text) })
    }
    return found
  }

  keysIn(list: string): string[] {
    return this.referencesIn(list).map(({ text, key }) => key ?? text)
  }
}
