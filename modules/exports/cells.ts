/** The columns of a file of the first release, by which an import recognizes a file. They keep their places. */
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
