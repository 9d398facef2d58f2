import { nearest } from '../../../../src/schema/nearest.ts'
import { FieldKeys } from '../../convert/fields.ts'
import { ImportError } from '../../items.ts'
import { type Mapping, valueFor } from '../../mapping.ts'

/**
 * The targets of columns: fields of a task, or `field.<key>`, a custom field, each with its usual headers, the most
 * certain first. If a row has several columns for a field:
 * - `first`: the first text is used, the others become notes.
 * - `merged`: the texts become one value.
 * - `all`: all columns are read, also if their usual headers differ.
 */
const taskTargets = {
  title: ['first', 'title,task name,task title,card name,issue title,summary,name,subject,task,issue,to do'],
  description: ['merged', 'description,notes,details,body,desc,content,task content,note'],
  status: ['first', 'status,state,stage,state name,status name,task status,current state'],
  list: ['first', 'list,list name,section,section column,column,column name,bucket,bucket name,group'],
  priority: ['first', 'priority,importance,urgency,priority name'],
  dueDate: ['first', 'due date,due,deadline,due on,due at,due by,target date,end date,finish date,finish'],
  remindAt: ['first', 'remind at,reminder'],
  assignee: [
    'first',
    `assignee,assigned to,assignees,assigned,assignee name,assigned to name,assign,owner,owners,owned by,responsible,person,
    resource names`,
  ],
  assigneeEmail: ['first', 'assignee email,assigned to email,owner email'],
  author: [
    'merged',
    'author,reporter,creator,created by,author name,reporter name,creator name,requester,requested by,submitter,opened by',
  ],
  authorEmail: ['merged', 'author email,reporter email,creator email'],
  createdAt: [
    'first',
    `created at,created,created time,created on,created date,creation date,creation time,date created,date added,opened at,
    opened on,date opened,submitted on,date submitted,reported on,date reported`,
  ],
  completed: [
    'all',
    `completed at,completed,completed on,done,is completed,completed date,date completed,closed at,closed,closed on,
    date closed,is closed,finished at,finished on,finished date,resolved,resolved at,resolved on,accepted at,complete,
    percent complete,percentage complete,percent done,percent completed`,
  ],
  labels: ['all', 'labels,tags,label,tag,categories,category'],
  parent: ['merged', 'parent,parent id,parent key,parent task,parent issue,parent task id'],
  blockedBy: ['all', 'blocked by,depends on,dependencies,predecessors'],
  comments: ['all', 'comments,comment,assigned comments'],
  subtasks: ['all', 'subtasks,checklist,checklist items'],
  notes: ['all', ''],
  id: [
    'first',
    'issue key,key,id,identifier,task id,issue id,card id,work item id,ticket id,story id,bug id,issue iid,ref,#',
  ],
  externalId: ['first', 'external id'],
} as const satisfies Record<string, readonly ['first' | 'merged' | 'all', string]>

export type TaskTarget = keyof typeof taskTargets
export type Target = TaskTarget | `field.${string}`

const targets = Object.keys(taskTargets) as TaskTarget[]
const aliases = new Map<string, TaskTarget>([
  ['section', 'list'],
  ['key', 'id'],
  ['comment', 'comments'],
])
const isTask = (name: string): name is TaskTarget => Object.hasOwn(taskTargets, name)
const isField = (name: string): name is `field.${string}` => /^field\.[a-z][a-z0-9_]{0,39}$/.test(name)

/** Returns undefined for a custom field. */
export const useOf = (target: Target) => (isTask(target) ? taskTargets[target][0] : undefined)

export const targetNamed = (name: string): Target | undefined =>
  isTask(name) || isField(name) ? name : aliases.get(name)

/** Returns the error of a mapping with an unknown field, or undefined. */
export function columnsError(columns: Record<string, string | null> = {}): string | undefined {
  for (const [header, name] of Object.entries(columns)) {
    if (name === null || targetNamed(name)) continue
    const suggestion = name.startsWith('field.') ? undefined : nearest(name, targets)
    const end = suggestion ? `; did you mean ${suggestion}?` : ''
    return `mapping.columns.${header.slice(0, 100)} must be null, field.<key>, or one of ${targets.join(', ')}${end}`
  }
  return undefined
}

/** Returns the plain header: `due date` for `Due date`, `due_date` and `dueDate`. */
export const plain = (header: string): string =>
  header.trim() === '#'
    ? '#'
    : header
        .normalize()
        .replace(/(\p{Ll})(\p{Lu})/gu, '$1 $2')
        .toLowerCase()
        .replace(/[^\p{L}\p{N}]+/gu, ' ')
        .trim()

/** The words that Jira puts before the name of a custom field, in its languages. */
export const customField =
  /^(?:custom field|champs? personnalisée?s?|campo personalizado|benutzerdefinierte(?:s|r)? felde?r?|pole (?:niestandardowe|własne)) /

/** Returns the name of a custom field, without the words that Jira adds. */
export const fieldName = (header: string): string => {
  const [, name] = /^[\p{L} ]+ \((.+)\)$/u.exec(header) ?? []
  return (name && customField.test(plain(header)) ? name : header.replace(/^field\./, '')).slice(0, 100)
}

/** Returns the targets of plain headers. Only a target with the use `all` belongs to several headers. */
function usualTargets(headers: string[]): Map<string, TaskTarget> {
  const found = new Map<string, TaskTarget>()
  // GitLab writes `Created At (UTC)`.
  const nameOf = new Map(headers.map((header) => [header.replace(/ (utc|gmt)$/, ''), header]))
  // Microsoft Planner writes words such as `In progress`. Other systems write numbers in this column.
  if (headers.includes('progress') && headers.includes('bucket name')) found.set('progress', 'status')
  for (const [target, [use, names]] of Object.entries(taskTargets) as [TaskTarget, [string, string]][]) {
    const present = names.split(/,\s*/).flatMap((name) => nameOf.get(name) ?? [])
    for (const name of use === 'all' ? present : present.slice(0, 1)) found.set(name, target)
  }
  return found
}

export interface Column {
  index: number
  header: string
  plain: string
  /** Null: not imported. */
  target: Target | null
  /** The key of the column's custom field, for values that have no other target. */
  key: string
  /** True if the header has no usual target, or another column has it. The column then becomes a custom field. */
  isUnknown: boolean
}

/** Returns the plain, English name of a header. */
export type NameOf = (header: string) => string

/** The targets of a source's columns, by plain header. Null: not imported. */
export type KnownColumns = Record<string, Target | null>

/** Returns known columns without a target. @param names separated by commas */
export const notImported = (names: string): KnownColumns =>
  Object.fromEntries(names.split(/,\s*/).map((name) => [name, null]))

/** Returns the target in the mapping; undefined if it has none. */
const givenIn = ({ columns }: Mapping, header: string): string | null | undefined => valueFor(columns, header)

export const isTitle =
  (known: KnownColumns | undefined, mapping: Mapping, nameOf: NameOf) => (header: string) => {
    const given = givenIn(mapping, header)
    if (given !== undefined) return given === 'title'
    const name = nameOf(header)
    return known ? known[name] === 'title' : usualTargets([name]).get(name) === 'title'
  }

/**
 * Returns the columns with their targets: from the mapping, else from the source or the usual headers, else a field.
 * @throws ImportError if the mapping names an unknown field, or no column or several columns are the title
 */
export function columnsOf(names: string[], mapping: Mapping, nameOf: NameOf, known?: KnownColumns): Column[] {
  const given = mapping.columns ?? {}
  const error = columnsError(given)
  if (error) throw new ImportError(error)
  const taken = new Set(Object.values(given).map((name) => name && targetNamed(name)))
  const free = names.filter((name) => givenIn(mapping, name) === undefined).map(nameOf)
  const usual = known ? new Map<string, Target | null>(Object.entries(known)) : usualTargets(free)
  const keys = new FieldKeys()
  const columns = names.map((name, index): Column => {
    const header = name || `Column ${index + 1}`
    const key = keys.keyFor(fieldName(header), header)
    const own = givenIn(mapping, header)
    const named = nameOf(header)
    if (own !== undefined) {
      const target = own === null ? null : targetNamed(own)!
      return { index, header, plain: named, target, key, isUnknown: false }
    }
    const usualTarget = header.startsWith('field.') ? targetNamed(header) : usual.get(named)
    const isFree =
      usualTarget !== undefined &&
      (usualTarget === null || !taken.has(usualTarget) || usualTarget.startsWith('field.'))
    const target = isFree ? usualTarget : (`field.${key}` as const)
    return { index, header, plain: named, target, key, isUnknown: !isFree }
  })
  checkTitle(columns)
  return columns
}

function checkTitle(columns: Column[]): void {
  const found = columns.filter(({ target }) => target === 'title')
  const titles = [...new Set(found.map(({ header }) => header))]
  if (titles.length === 1) return
  const headers = columns.map(({ header }) => header.slice(0, 50)).slice(0, 20)
  throw new ImportError(
    titles.length > 1
      ? `Only one column can be the title, but these are: ${titles.slice(0, 10).join(', ')}`
      : `No column is the title. Send mapping.columns, such as {${JSON.stringify(headers[0])}: "title"}. The columns are ${headers.join(', ')}`,
  )
}

/** Returns lines for the report: headers in the mapping that the file lacks, and a header in an unknown language. */
export function headerMessages({ columns: given = {} }: Mapping, columns: Column[]): string[] {
  const headers = new Set(columns.map(({ header }) => header.normalize()))
  const missing = Object.keys(given).filter((header) => !headers.has(header.normalize()))
  const shown = missing.slice(0, 10).map((header) => JSON.stringify(header.slice(0, 50)))
  const others = missing.length > shown.length ? `, and ${missing.length - shown.length} others` : ''
  const unknown = columns.filter(({ isUnknown }) => isUnknown)
  const hasId = columns.some(({ target }) => target === 'id')
  const isKnown = columns.some(({ target, isUnknown }) => !isUnknown && target !== 'title' && target !== 'id')
  return [
    ...(missing.length > 0
      ? [`The file has no column for these names in mapping.columns: ${shown.join(', ')}${others}`]
      : []),
    ...(!isKnown && unknown.length >= (hasId ? 2 : 3)
      ? [
          `Only the columns of titles and ids were recognized. If others are a status, people or dates, send mapping.columns, such as {${JSON.stringify(unknown[0]!.header.slice(0, 50))}: "status"}`,
        ]
      : []),
  ]
}
