import { isIdInAnyCase } from '../../../src/id-format.ts'
import { editNames } from '../../../src/model/fields.ts'
import { namedFields } from '../../tasks/schema.ts'
import { idOf, type NamedRow, readForNames, usersOf } from './name-lookup.ts'
import { read } from '../requests.ts'
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
