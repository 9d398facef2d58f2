import type { EntityDefinition } from '../../src/model/definition.ts'
import type { ChildOfTask } from '../../src/model/entities.ts'
import { capital } from '../../src/schema/response.ts'

/**
 * The columns that CSV exports have had since the first release. Imports recognize an export by these columns, so their
 * order never changes.
 */
export const csvColumns: string[] =
  'id number title description status priority dueDate remindAt assignee labels externalId blockedBy createdAt updatedAt author importedAuthor subtasks comments'.split(
    ' ',
  )
export const fieldPrefix = 'field.'

/** Spreadsheets run a cell that begins with one of these characters as a formula. */
const FORMULA = /^'*[=+\-@\t\r]/
const ESCAPED = /^'+[=+\-@\t\r]/

/** Puts `'` before a formula, and before a text that would look like an escaped formula. */
export const escapeFormula = (text: string): string => (FORMULA.test(text) ? `'${text}` : text)
export const unescapeFormula = (cell: string): string => (ESCAPED.test(cell) ? cell.slice(1) : cell)

/** Labels, and the ids in `blockedBy`, are one per line. */
export const linesCell = (lines: string[]): string => lines.join('\n')

export interface CellPerson {
  name: string
  email?: string
}

/** `Ada Lovelace <ada@example.com>` for a member of the project, `Ada Lovelace` for anybody else. */
export const personCell = ({ name, email }: CellPerson): string => (email ? `${name} <${email}>` : name)

const maxAddressCharacters = 254
const isAddress = (text: string) =>
  text.length <= maxAddressCharacters && /^[^\s@<>]+@[^\s@<>]+\.[^\s@<>]+$/.test(text)

/** Reads `Ada`, `ada@example.com` and `Ada <ada@example.com>`. */
export function readPerson(cell: string): CellPerson | undefined {
  const text = cell.trim()
  const [, name = '', address] = /^(.*)<([^<>\s@]+@[^<>\s]+)>$/s.exec(text) ?? []
  const email = address ?? (isAddress(text) ? text : undefined)
  if (email) return { name: name.trim() || email, email }
  return text ? { name: text } : undefined
}

/** A line of the cell `subtasks`: `[x] Oil the wheels`, or `[ ] Draw the plate`. */
export const subtaskCell = ({ title, completed }: { title: string; completed: boolean }): string =>
  `[${completed ? 'x' : ' '}] ${title}`

export interface CellComment {
  text: string
  createdAt?: string
  author?: CellPerson
}

interface ShownComment {
  text: string
  createdAt: string
  author: CellPerson | null
  importedAuthor?: string | null
}

/** A comment in the cell `comments`: a line with the time and the author, and then the text, indented by two spaces. */
export function commentCell({ text, createdAt, author, importedAuthor }: ShownComment): string {
  const person = importedAuthor ? { name: importedAuthor } : (author ?? { name: '' })
  return `${createdAt} ${personCell(person)}\n  ${text.replaceAll('\n', '\n  ')}`
}

const COMMENT = /^(\d{4}-\d\d-\d\dT\S+) ([^\n]*)\n {2}(.*)$/s

/** Reads the comments in a cell. A cell without times is one comment without an author. */
export function readComments(cell: string): CellComment[] {
  const parts = cell.split(/\n(?=\d{4}-\d\d-\d\dT\S+ [^\n]*\n {2})/).filter((part) => part.trim() !== '')
  return parts.map((part) => {
    const [, createdAt, author = '', text = ''] = COMMENT.exec(part) ?? []
    if (!createdAt) return { text: part.trim() }
    return { createdAt, author: readPerson(author), text: text.replaceAll('\n  ', '\n') }
  })
}

/** The names in a child that files and answers for agents leave out, or show in another form. */
const omitted = 'id taskId createdAt updatedAt author authorId authorRemoved importedAuthor'.split(' ')

/** Other parts of a child have these names in files and imports. */
const taken = 'kind row key task messages author csvKey'.split(' ')
/** Returns the name that a field of a child has in files and imports. */
export const nameInFile = (name: string): string => (taken.includes(name) ? `own${capital(name)}` : name)

/** Returns the values of a line. A line has a kind, so a field with this name has another name. */
export function lineValues(shown: object): object {
  if (!('kind' in shown)) return shown
  const { kind, ...others } = shown
  return { ...others, [nameInFile('kind')]: kind }
}

/** Returns the names of the values that a child has besides its text. */
export const otherNames = ({ view, asChild, person }: EntityDefinition<ChildOfTask>): string[] =>
  Object.keys(view.schema.properties).filter(
    (name) => name !== asChild!.text && name !== person && !omitted.includes(name),
  )

/** A child of an entity that declares no `cell`: a line of JSON with its text, and each other value that an import sets. */
export function childCell(
  definition: EntityDefinition<ChildOfTask>,
  shown: Record<string, unknown>,
  personOf: (id: unknown) => CellPerson | undefined,
): string {
  const { asChild, person } = definition
  const { text, input } = asChild!
  const names = [text, ...otherNames(definition).filter((name) => name in input.properties)]
  const values = Object.fromEntries(names.map((name) => [nameInFile(name), shown[name]]))
  if (person) {
    const imported = shown.importedAuthor ? { name: String(shown.importedAuthor) } : undefined
    const author = imported ?? personOf(shown[person]) ?? (shown.author as CellPerson | null)
    Object.assign(values, { author: author && personCell(author), createdAt: shown.createdAt })
  }
  return JSON.stringify(values)
}
