import { model } from '../../../../src/model/model.ts'
import { nearest } from '../../../../src/schema/validation.ts'
import { fieldPrefix } from '../../../exports/cells.ts'
import { headerOf, taskFields } from '../../../tasks/schema.ts'
import { FieldKeys } from '../../convert/names.ts'
import { byWord } from '../../convert/texts.ts'
import { type FieldItem, ImportError } from '../../items.ts'
import { type Mapping, valueFor } from '../../mapping.ts'
import words from '../../words.json' with { type: 'json' }
import type { Dates } from './dates.ts'

/** Returns the plain header: `due date` for `Due date`, `due_date` and `dueDate`. */
export const plain = (header: string): string =>
  header
    .normalize()
    .replace(/(\p{Ll})(\p{Lu})/gu, '$1 $2')
    .toLowerCase()
    .replace(/[^\p{L}\p{N}]+/gu, ' ')
    .trim() || header.trim()

/** The declared fields of tasks, by the names of their columns in our own files. */
export const declared = new Map(taskFields.map((one) => [headerOf(...one), one[1]]))
/** A column with children of a task has the target `child.` and their entity, except subtasks and comments. */
export const childPrefix = 'child.'

const ownNames = new Set([...declared.keys()].map(plain))
const { title, ...others } = words.headers
const ofDeclared = [...declared].map(([name, one]) => [name, `${plain(name)},${one.otherHeaders ?? ''}`])
/** The usual plain headers of each target, the most certain first. Except for the title, no target has the name of another declared field. */
const usualHeaders = Object.entries<string>({ title, ...Object.fromEntries(ofDeclared), ...others }).map(
  ([target, names]): [string, string[]] => {
    const isFree = (name: string) => target === 'title' || name === plain(target) || !ownNames.has(name)
    return [target, names.split(/,\s*/).filter(isFree)]
  },
)
const targets = usualHeaders.map(([target]) => target)

/**
 * Returns how several columns for a target are read. `first`: the first text is used, and the others become notes.
 * `joined`: the texts become one value. `all`: all columns are read, also if their usual headers differ.
 */
export function useOf(target: string): 'first' | 'joined' | 'all' {
  if (target.startsWith(fieldPrefix) || ['description', 'parent'].includes(target)) return 'joined'
  const isList = ['completed', 'comments', 'subtasks', 'notes'].includes(target)
  return isList || declared.get(target)?.reference ? 'all' : 'first'
}

export interface ColumnFormat {
  /** The targets that differ from the usual ones, by plain header. Null: not imported. */
  columns?: Record<string, string | null>
  /** True if users name columns: only `columns` have targets, and all other columns become fields. */
  hasOwnColumns?: boolean
}

const custom = new RegExp(words.headerParts.custom)
const headerParts = Object.entries(words.headerParts).map(([name, part]) => [name, new RegExp(part)] as const)
/** Versions of Jira translate the headers of the same columns with different words. */
const translated = byWord(words.translated)

/** Returns the plain header in English. */
export function englishName(header: string): string {
  // GitLab writes `Created At (UTC)`.
  const name = plain(header).replace(/ (utc|gmt)$/, '')
  const parts = new Set(headerParts.flatMap(([part, pattern]) => (pattern.test(name) ? part : [])))
  if (parts.has('parent') && !parts.has('custom')) {
    if (parts.has('id')) return 'parent id'
    if (parts.has('key')) return 'parent key'
  }
  if (parts.has('blocks') && parts.has('outward')) return 'outward issue link blocks'
  if (parts.has('blocks') && parts.has('inward')) return 'inward issue link blocks'
  return translated(name) ?? name.replace(custom, 'custom field ')
}

/** Returns the name of a custom field, without the words that Jira adds. */
const fieldName = (header: string): string => {
  const [, name] = /^[\p{L} ]+ \((.+)\)$/u.exec(header) ?? []
  return (name && custom.test(plain(header)) ? name : header.replace(/^field\./, '')).slice(0, 100)
}

const isTarget = (name: string): boolean =>
  targets.includes(name) ||
  /^field\.[a-z][a-z0-9_]{0,39}$/.test(name) ||
  model().ofTask.some((child) => name === childPrefix + child.name)

/** Returns the error of a mapping with an unknown field, or undefined. */
export function columnsError(columns: Record<string, string | null> = {}): string | undefined {
  for (const [header, name] of Object.entries(columns)) {
    if (name === null || isTarget(name)) continue
    const suggestion = name.startsWith(fieldPrefix) ? undefined : nearest(name, targets)
    const end = suggestion ? `; did you mean ${suggestion}?` : ''
    return `mapping.columns.${header.slice(0, 100)} must be null, field.<key>, or one of ${targets.join(', ')}${end}`
  }
  return undefined
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

/** Bounds the time of a regular expression, which grows with the square of the length. */
const maxTypedCharacters = 100

/** Returns the type of a custom field with this value. @param isOwn true for the forms of our exports: TRUE is a text */
function typeOf(text: string, isOwn: boolean): FieldItem['type'] {
  if (text.length > maxTypedCharacters) return 'text'
  // 007 and 1e5 are no numbers, and neither is a number with more digits than are stored.
  const number = isOwn ? text : text.replace(/(\.\d*?)0+$/, '$1').replace(/\.$/, '')
  if (/^-?\d/.test(text) && String(Number(text)) === number) return 'number'
  if (/^(true|false)$/.test(isOwn ? text : text.toLowerCase())) return 'boolean'
  const isDate = /^[12]\d{3}-\d\d-\d\d$/.test(text) && new Date(text).toJSON()?.startsWith(text)
  return isDate ? 'date' : 'text'
}

/** A column of a file, and what its values show. */
export class Column {
  readonly plain: string
  /** True if the header has no usual target, or another column has it. The column then becomes a custom field. */
  readonly isUnknown: boolean
  /** '' for a column that is not imported. */
  target: string
  /** True if some values of a column of completion are neither yes nor no. */
  hasOtherAnswers = false
  /** The types of all values. Empty for a column without values. */
  readonly types = new Set<FieldItem['type']>()
  /** The numbers of decimals, such as 1 for 2.5. */
  private readonly decimals = new Set<number>()
  private endsWithZero = false
  private readonly hasDates: boolean

  /** @param key of the column's custom field, for values that have no other target */
  constructor(
    readonly index: number,
    readonly header: string,
    readonly key: string,
    target: string | null | undefined,
  ) {
    this.plain = englishName(header)
    this.isUnknown = target === undefined
    this.target = target === undefined ? fieldPrefix + key : (target ?? '')
    this.hasDates =
      /\b(date|start|started|updated|modified|changed)\b/.test(this.plain) ||
      ['createdAt', 'completed'].includes(this.target) ||
      declared.get(this.target)?.kind?.is === 'instant'
  }

  scan(text: string, dates: Dates): void {
    if (text === '' || this.target === '') return
    if (this.hasDates) dates.scan(text)
    if (this.target === 'completed') this.hasOtherAnswers ||= answerOf(text, this.header) === 'other'
    if (this.types.has('text')) return
    const isOwn = this.header.startsWith(fieldPrefix)
    // The version 1.0 is no number.
    const isVersion = /\bversions?\b/.test(this.plain) && !isOwn
    this.types.add(isVersion ? 'text' : typeOf(text, isOwn))
    const decimals = (!isOwn && /\.(\d+)/.exec(text)?.[1]) || ''
    this.decimals.add(decimals.length)
    this.endsWithZero ||= decimals.endsWith('0')
  }

  get type(): FieldItem['type'] {
    const [type = 'text', another] = this.types
    // As numbers, the versions 1.1 and 1.10 would be equal.
    const isText = type === 'number' && this.decimals.size > 1 && this.endsWithZero
    return another || isText ? 'text' : type
  }
}

/**
 * Returns the targets of headers: from the mapping, else from the source or the usual headers. Undefined: a custom field.
 * Only a target with the use `all` belongs to several usual headers.
 */
export function targetsOf(headers: string[], { columns: given = {} }: Mapping, format: ColumnFormat) {
  const names = headers.map((header) => (valueFor(given, header) === undefined ? englishName(header) : ''))
  const found = new Map(Object.entries(format.columns ?? {}))
  const taken = new Set(names.map((name) => found.get(name)))
  for (const [target, usual] of format.hasOwnColumns ? [] : usualHeaders) {
    const free = usual.filter((name) => names.includes(name) && !found.has(name))
    const first = taken.has(target) ? [] : free.slice(0, 1)
    for (const name of useOf(target) === 'all' ? free : first) found.set(name, target)
  }
  const inMapping = new Set(Object.values(given))
  return headers.map((header, index) => {
    const own = valueFor(given, header)
    if (own !== undefined) return own
    const isOwn = header.startsWith(fieldPrefix) && isTarget(header)
    const target = isOwn ? header : found.get(names[index]!)
    return target && !target.startsWith(fieldPrefix) && inMapping.has(target) ? undefined : target
  })
}

/** Returns the columns with their targets. @throws ImportError if no column or several columns are the title */
export function columnsOf(names: string[], mapping: Mapping, format: ColumnFormat): Column[] {
  const headers = names.map((name, index) => name || `Column ${index + 1}`)
  const targets = targetsOf(headers, mapping, format)
  const keys = new FieldKeys()
  const columns = headers.map(
    (header, index) => new Column(index, header, keys.keyFor(fieldName(header), header), targets[index]),
  )
  const titles = new Set(columns.flatMap(({ target, header }) => (target === 'title' ? [header] : [])))
  if (titles.size === 1) return columns
  const problem = titles.size > 1 ? 'More than one column is the title' : 'No column is the title'
  const shown = headers.slice(0, 20).map((header) => header.slice(0, 50))
  const example = `{${JSON.stringify(shown[0])}: "title"}`
  throw new ImportError(
    `${problem}. Send mapping.columns, such as ${example}. The columns are ${shown.join(', ')}`,
  )
}

/** True if the header seems to be in an unknown language. */
export function hasUnknownHeader(columns: Column[]): boolean {
  const unknown = columns.filter((column) => column.isUnknown)
  const known = columns.filter(({ isUnknown, target }) => !isUnknown && target !== 'title')
  return known.every(({ target }) => target === 'id') && unknown.length >= (known.length > 0 ? 2 : 3)
}

/** The maximum number of custom fields of a project. */
const maxFields = 50

/**
 * Sets the targets of the columns after the scan: unknown columns without values are not read, and those beyond the
 * maximum become lines of descriptions. Returns the fields.
 */
export function fieldsOf(columns: Column[]): FieldItem[] {
  const fields = new Map<string, FieldItem>()
  for (const column of columns) {
    const { header, types } = column
    if (column.isUnknown && types.size === 0) column.target = ''
    else if (column.isUnknown && fields.size >= maxFields) column.target = 'notes'
    const { target } = column
    const isField = target.startsWith(fieldPrefix)
    if (types.size === 0 || !(isField || column.hasOtherAnswers)) continue
    const isRepeated = columns.some((one) => one.header === header && one !== column)
    const key = isField ? target.slice(fieldPrefix.length) : column.key
    const type = isRepeated ? 'text' : column.type
    fields.set(key, { kind: 'field', key, name: fieldName(header), type })
  }
  return [...fields.values()]
}
