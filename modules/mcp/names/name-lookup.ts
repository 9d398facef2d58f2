import { canonicalId, isIdInAnyCase } from '../../../src/id-format.ts'
import { nearest } from '../../../src/schema/nearest.ts'
import { caseless, oneForm } from '../../../src/schema/text.ts'
import { cursorOf, read, withQuery } from '../requests.ts'
import { type Call, ToolError } from '../tool.ts'

/** A row with the names that an agent may write in place of its id. */
export interface NamedRow {
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
export async function readForNames<Row>(call: Call, path: string): Promise<Row[]> {
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
export function idOf(noun: string, given: string, rows: NamedRow[]): string {
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
