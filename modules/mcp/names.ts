import { canonicalId, isIdInAnyCase } from '../../src/id-format.ts'
import { caseless, visualForm } from '../../src/schema/input.ts'
import { userFields } from '../tasks/schema.ts'
import { badRequest, conflict, HttpError } from '../../src/responses/errors.ts'
import type { Call } from './tool.ts'

/** The arguments of tools that accept the names of users or labels in place of ids. */
const users = ['actor', 'exceptActor', 'claimedBy', ...userFields]
const labels = ['labels', 'anyLabel']

/** Returns the arguments of a tool with ids in place of names. @throws HttpError 400, 404, 409 */
export async function withIds(call: Call, args: { project?: string }): Promise<object> {
  if (args.project === undefined) return args
  const project = isName(args.project)
    ? idOf('project', args.project, await readNamed(call, '/projects'))
    : canonicalId(args.project)
  const ids: Record<string, unknown> = { ...args, project }
  const path = `/projects/${project}`
  for (const field of users) {
    const given = ids[field]
    if (given === 'me') ids[field] = call.userId
    else if (isName(given) && !(field === 'claimedBy' && given === 'none'))
      ids[field] = idOf('user', given, await readUsers(call, path))
  }
  for (const field of labels) {
    const given = (ids[field] ?? []) as string[]
    if (!given.some(isName)) continue
    const rows = await readNamed(call, `${path}/labels`)
    ids[field] = given.map((one) => (isName(one) ? idOf('label', one, rows) : one))
  }
  return ids
}

const isName = (value: unknown): value is string => typeof value === 'string' && !isIdInAnyCase(value)

interface NamedRow {
  id: string
  names: string[]
}

const pageRows = 200
const maxRows = 2_000

/** Returns the rows of a list, at most 2,000. */
async function readAll<Row>(call: Call, path: string): Promise<Row[]> {
  const rows: Row[] = []
  for await (const { body } of call.pages<Row>(path, pageRows)) if (rows.push(...body) >= maxRows) break
  return rows
}

async function readNamed(call: Call, path: string): Promise<NamedRow[]> {
  const rows = await readAll<{ id: string; name: string }>(call, path)
  return rows.map(({ id, name }) => ({ id, names: [name] }))
}

type Person = { id: string; name: string; email: string } | null

/** @param path of the project */
async function readUsers(call: Call, path: string): Promise<NamedRow[]> {
  const { owner } = (await call.get<{ owner: Person }>(path)).body
  const members = await readAll<{ user: Person }>(call, `${path}/members`)
  // A user may choose the email of another user as a name. Such a name selects nobody.
  const namesOf = ({ name, email }: NonNullable<Person>) => (name.includes('@') ? [email] : [email, name])
  return [owner, ...members.map(({ user }) => user)].flatMap((user) =>
    user ? [{ id: user.id, names: namesOf(user) }] : [],
  )
}

/** The maximum number of characters of a name in an error. */
const maxShown = 100

/** Returns the id of the only row with this name. @throws HttpError 400, 404, 409 */
function idOf(noun: string, given: string, rows: NamedRow[]): string {
  // A row that was not read may have the same name.
  if (rows.length >= maxRows)
    throw badRequest(`${maxRows} ${noun}s or more are too many to find a name: pass the id`)
  const wanted = caseless(visualForm(given))
  const found = rows.filter(({ names }) => names.some((name) => caseless(visualForm(name)) === wanted))
  if (found.length === 1) return found[0]!.id
  const shown = given.slice(0, maxShown)
  if (found.length > 1)
    throw conflict(`${found.length} ${noun}s have the name "${shown}": pass an id that projects shows`)
  throw new HttpError(404, `No ${noun} has the name or id "${shown}": pass a name that projects shows`)
}
