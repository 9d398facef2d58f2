import { headerOf, taskFields } from '../../../tasks/schema.ts'
import { byWord } from '../../convert/texts.ts'
import words from '../../words.json' with { type: 'json' }

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

/** The declared fields of tasks, by the names of their columns in our own files. */
export const declared = new Map(taskFields.map((one) => [headerOf(...one), one[1]]))
const ofDeclared = [...declared].map(([name, { otherHeaders = '' }]) => [
  name,
  `${plain(name)},${otherHeaders}`,
])

const { title, ...others } = words.headers
/** The targets of columns with their usual plain headers, the most certain first. `field.<key>` is a target too. */
const usualHeaders: Record<string, string> = { title, ...Object.fromEntries(ofDeclared), ...others }
export const targets = Object.keys(usualHeaders)
const ownNames = new Set([...declared.keys()].map(plain))
/** The name of a declared field is no other header of another target. Only a title takes the column from the field. */
const namesOf = Object.entries(usualHeaders).map(([target, names]): [string, string[]] => {
  const isFree = (name: string) => target === 'title' || name === plain(target) || !ownNames.has(name)
  return [target, names.split(/,\s*/).filter(isFree)]
})
/** Before the name of an entity: the target of a column with children that only their declaration names. */
export const childPrefix = 'child.'

/**
 * Returns how several columns for a target are read. `first`: the first text is used, and the others become notes.
 * `joined`: the texts become one value. `all`: all columns are read, also if their usual headers differ.
 */
export function useOf(target: string): 'first' | 'joined' | 'all' {
  if (target.startsWith('field.') || ['description', 'parent'].includes(target)) return 'joined'
  const isList = ['completed', 'comments', 'subtasks', 'notes'].includes(target)
  return isList || declared.get(target)?.reference ? 'all' : 'first'
}

export interface ColumnFormat {
  /** The targets that differ from the usual ones, by plain header. Null: not imported. */
  columns?: Record<string, string | null>
  /** True if users name columns: only `columns` have targets, and all other columns become fields. */
  hasOwnColumns?: boolean
}

/** @param names of columns that the import knows and does not read, separated by commas */
export const notImported = (names: string): Record<string, null> =>
  Object.fromEntries(names.split(/,\s*/).map((name) => [name, null]))

/** Returns the targets of plain headers. Only a target with the use `all` belongs to several headers. */
export function targetsOf(headers: string[], { columns = {}, hasOwnColumns }: ColumnFormat) {
  const found = new Map(Object.entries(columns))
  if (hasOwnColumns) return found
  const taken = new Set(headers.map((header) => found.get(header)))
  // Microsoft Planner writes words such as `In progress`. Other systems write numbers in this column.
  if (headers.includes('progress') && headers.includes('bucket name')) found.set('progress', 'status')
  // GitLab writes `Created At (UTC)`.
  const nameOf = new Map(headers.map((header) => [header.replace(/ (utc|gmt)$/, ''), header]))
  for (const [target, names] of namesOf) {
    const free = names.flatMap((name) => nameOf.get(name) ?? []).filter((name) => !found.has(name))
    const first = taken.has(target) ? [] : free.slice(0, 1)
    for (const name of useOf(target) === 'all' ? free : first) found.set(name, target)
  }
  return found
}

/** The words that Jira puts before the name of a custom field, in its languages. */
const customField =
  /^(?:custom field|champs? personnalisée?s?|campo personalizado|benutzerdefinierte(?:s|r)? felde?r?|pole (?:niestandardowe|własne)) /

/** Returns the name of a custom field, without the words that Jira adds. */
export const fieldName = (header: string): string => {
  const [, name] = /^[\p{L} ]+ \((.+)\)$/u.exec(header) ?? []
  return (name && customField.test(plain(header)) ? name : header.replace(/^field\./, '')).slice(0, 100)
}

/**
 * Systems such as Jira write headers in the language of the user. The table has the plain headers in Spanish, German,
 * French, Portuguese and Polish of the columns that the import reads. Versions of Jira use different words.
 */
const knownHeader = byWord(words.translated)

/** The direction of a link between issues, in every language, such as `Lien de ticket entrant (Blocks)`. */
const inward = /inward|entrant|eingehend|entrada|interno|para dentro|przychodz|wewnętrzn/
const outward = /outward|sortant|salient|salida|ausgehend|saída|externo|para fora|wychodz|zewnętrzn/
const blocks =
  / (blocks?|blocker|bloquea|bloqueo|bloqueia|bloqueio|bloque|blocage|blockiert|blockieren|blokuje)$/

/** Such as `ID del padre` and `Identyfikator elementu nadrzędnego`. */
const ofParent = /(^| )(padre|principal|übergeordnete[nrs]?|pai|nadrzędn(y|e|a|ego|ej))( |$)| parente?( |$)/
const id = /(^| )(id|identifiant|identificador|identyfikator)( |$)/
const key = /(^| )(clave|clé|chave|klucz|(vorgangs)?schlüssel)( |$)/

export function englishName(header: string): string {
  const name = plain(header)
  const isOfParent = ofParent.test(name) && !customField.test(name)
  if (isOfParent && id.test(name)) return 'parent id'
  if (isOfParent && key.test(name)) return 'parent key'
  if (blocks.test(name) && outward.test(name)) return 'outward issue link blocks'
  if (blocks.test(name) && inward.test(name)) return 'inward issue link blocks'
  return knownHeader(name) ?? name.replace(customField, 'custom field ')
}
