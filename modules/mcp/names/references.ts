import { isIdInAnyCase, canonicalId } from '../../../src/id-format.ts'
import { editNames } from '../../../src/model/fields.ts'
import { nearest } from '../../../src/schema/nearest.ts'
import { caseless, oneForm } from '../../../src/schema/text.ts'
import { namedFields } from '../../tasks/schema.ts'
import { read, cursorOf, withQuery } from '../requests.ts'
import { type Call, ToolError } from '../tool.ts'

type Kind = 'user' | 'member' | 'label' | 'field' | 'view'

/** The fields that may contain a name in place of an id. `id` may also be a name in operations on labels, fields and views. */
const kindOfField = new Map<string, Kind>([
  ['claimedBy', 'user'],
  ['memberId', 'member'],
  ['labels', 'label'],
  ['anyLabel', 'label'],
  ...namedFields.flatMap(([name, { reference }]): [string, Kind][] =>
    reference ? [name, ...editNames(name)].map((one) => [one, 'label']) : [[name, 'user']],
  ),
])
const kindsWithNames: string[] = ['label', 'field', 'view'] satisfies Kind[]

interface Person {
  id: string
  name: string
  email: string
}
interface Member {
  id: string
  user: Person | null
}

/**
 * Returns a function that replaces names in an operation or in other arguments by ids. It accepts the email, the name or `me`
 * for users and members, and the name or key for labels, fields and views. It reads each list of names at most once.
 */
export function openWithIds(call: Call, projectId: string) {
  const lists = new Map<Kind, Promise<NamedRow[]>>()
  const rowsOf = (kind: Kind) => {
    const rows = lists.get(kind) ?? readRows(call, projectId, kind)
    lists.set(kind, rows)
    return rows
  }
  return async <Fields extends object>(given: Fields, op = '', path = ''): Promise<Fields> => {
    const fields = { ...given } as Record<string, unknown>
    const noun = op.slice(0, op.indexOf('.'))
    for (const [name, value] of Object.entries(fields)) {
      const kind = name === 'id' && kindsWithNames.includes(noun) ? (noun as Kind) : kindOfField.get(name)
      const isNobody = name === 'claimedBy' && value === 'none'
      if (!kind || isNobody || ![value].flat().some(isName)) continue
      const rows = await rowsOf(kind)
      const replace = (one: unknown) => (isName(one) ? idIn(`${path}${name}`, kind, one, rows) : one)
      fields[name] = Array.isArray(value) ? value.map(replace) : replace(value)
    }
    return fields as Fields
  }
}

/** Returns true if the arguments contain a name of one project. `me` and `none` have the same meaning in all projects. */
export const needProject = (given: object): boolean =>
  Object.entries(given).some(
    ([name, value]) =>
      kindOfField.has(name) && [value].flat().some((one) => isName(one) && one !== 'me' && one !== 'none'),
  )

/** Returns false for an id and for the `#name` of an earlier operation. */
const isName = (value: unknown): value is string =>
  typeof value === 'string' && value !== '' && !value.startsWith('#') && !isIdInAnyCase(value)

function idIn(field: string, kind: Kind, name: string, rows: NamedRow[]): string {
  try {
    return idOf(kind, name, rows)
  } catch (error) {
    if (!(error instanceof ToolError)) throw error
    throw new ToolError(error.status, `${field}: ${error.message}`, error.advice, error.details)
  }
}

async function readRows(call: Call, projectId: string, kind: Kind): Promise<NamedRow[]> {
  const path = `/projects/${projectId}`
  if (kind === 'label' || kind === 'field' || kind === 'view') {
    const rows = await readForNames<{ id: string; name: string; key?: string }>(call, `${path}/${kind}s`)
    return rows.map(({ id, name, key }) => ({ id, names: key === undefined ? [name] : [key, name] }))
  }
  const { body: me } = await read<Person>(call, '/auth/me')
  const ownNames = ({ id, email }: Person) => [email, ...(id === me.id ? ['me'] : [])]
  const members = await readForNames<Member>(call, `${path}/members`)
  if (kind === 'member')
    return members.map(({ id, user }) =>
      user ? { id, names: [user.name], ownNames: ownNames(user) } : { id, names: [] },
    )
  const { body: project } = await read<{ owner: Person | null }>(call, path)
  const users = usersOf(project.owner, members)
  return users.map((user) => ({ id: user.id, names: [user.name], ownNames: ownNames(user) }))
}

/** A row with the names that an agent may write in place of its id. */
interface NamedRow {
  id: string
  names: string[]
  /** Names that no other row has. They take precedence, because a user may choose the email of another user as a name. */
  ownNames?: string[]
}

const pageRows = 200
const maxPages = 10
const maxCandidates = 10
/** Characters of a name in an error. */
const maxShown = 100

/** Returns the id of a project. @param project an id, or a name in upper or lower case @throws ToolError 404, 409 */
export async function projectIdOf(call: Call, project: string): Promise<string> {
  if (isIdInAnyCase(project)) return canonicalId(project)
  const rows = await readForNames<{ id: string; name: string }>(call, '/projects')
  return idOf(
    'project',
    project,
    rows.map(({ id, name }) => ({ id, names: [name] })),
  )
}

/** Returns the users of a project: its owner and its members, without deleted accounts. */
export const usersOf = <User>(owner: User | null, members: { user: User | null }[]): User[] =>
  [owner, ...members.map(({ user }) => user)].filter((user) => user !== null)

/** Returns the rows of a list, at most 2,000. @throws ToolError */
export const readAll = async <Row>(call: Call, path: string): Promise<Row[]> =>
  (await readPages<Row>(call, path)).rows

/** Returns all rows of a list, because a later row may have the same name. @throws ToolError 400 above 2,000 rows */
async function readForNames<Row>(call: Call, path: string): Promise<Row[]> {
  const { rows, hasMore } = await readPages<Row>(call, path)
  if (!hasMore) return rows
  throw new ToolError(
    400,
    `A name cannot be looked up, because the list has more than ${rows.length} rows`,
    'Pass the id in place of the name',
  )
}

async function readPages<Row>(call: Call, path: string): Promise<{ rows: Row[]; hasMore: boolean }> {
  const rows: Row[] = []
  let cursor: string | undefined
  for (let page = 0; page < maxPages; page++) {
    const answer = await read<Row[]>(call, withQuery(path, { limit: pageRows, cursor }))
    rows.push(...answer.body)
    cursor = cursorOf(answer)
    if (!cursor) break
  }
  return { rows, hasMore: cursor !== undefined }
}

/** Returns the id of the only row with this name. @throws ToolError 404 or 409, which lists candidates */
function idOf(noun: string, given: string, rows: NamedRow[]): string {
  const wanted = caseless(oneForm(given))
  const withName = (names: string[] = []) => names.some((name) => caseless(oneForm(name)) === wanted)
  const own = rows.filter(({ ownNames }) => withName(ownNames))
  const isEmail = rows.some(({ ownNames }) => ownNames) && given.includes('@')
  const found = own.length > 0 || isEmail ? own : rows.filter(({ names }) => withName(names))
  if (found.length === 1) return found[0]!.id
  const name = JSON.stringify(given.slice(0, maxShown))
  if (found.length > 1)
    throw new ToolError(409, `${found.length} ${noun}s have the name ${name}`, 'Pass the id of a candidate', {
      candidates: shown(found),
    })
  const similar = nearest(given.slice(0, maxShown), rows.flatMap(allNames))
  const suggestion = similar === undefined ? '' : `; did you mean ${similar}?`
  throw new ToolError(404, `No ${noun} has the name or id ${name}${suggestion}`, adviceFor(noun), {
    candidates: shown(
      [...rows].sort(
        (a, b) => Number(allNames(b).includes(similar!)) - Number(allNames(a).includes(similar!)),
      ),
    ),
  })
}

const otherAdvice: Record<string, string> = {
  project: ', or list all with projects',
  label: ', or create it with label.create',
  user: ', or invite the user with member.invite',
}

const adviceFor = (noun: string) => `Pass the name or the id of a candidate${otherAdvice[noun] ?? ''}`

const allNames = ({ names, ownNames = [] }: NamedRow): string[] => [...names, ...ownNames]

const shown = (rows: NamedRow[]) =>
  rows
    .slice(0, maxCandidates)
    .map((row) => ({ id: row.id, names: allNames(row).map((name) => name.slice(0, maxShown)) }))
