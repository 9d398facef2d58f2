import type { Docket, Task } from '../../../typescript/src/index.ts'
import type { Cli } from '../cli.ts'
import { notFound, usageError } from '../failure.ts'
import { readSession, readStored } from './session.ts'

const id = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i
export const isId = (text: string): boolean => id.test(text)

const maxCandidates = 10
const pageLimit = 200

/** Returns the id of `given`, else of DOCKET_PROJECT, else of the stored default project. @throws Failure 2 or 3 */
export async function findProject(cli: Cli, docket: Docket, given?: string): Promise<string> {
  const project = await projectIfGiven(cli, docket, given)
  if (project) return project
  throw usageError(
    '--project is required: an id or a name. To store a default project, run docket use <project>',
  )
}

/** Like `findProject`, but returns undefined if there is no project. */
export async function projectIfGiven(
  { env }: Pick<Cli, 'env'>,
  docket: Docket,
  given?: string,
): Promise<string | undefined> {
  if (given === '') throw usageError('--project must be an id or a name')
  const wanted = given ?? (env.DOCKET_PROJECT || (await defaultProject(env)))
  if (!wanted) return undefined
  if (isId(wanted)) return wanted.toLowerCase()
  return byName('project', wanted, await docket.projects.list().all(), ({ name }) => [name]).id
}

async function defaultProject(env: Cli['env']): Promise<string | undefined> {
  const stored = await readStored(env)
  return (await readSession(env)).url === stored.url ? stored.project : undefined
}

/** Two names look the same without regard to case if these texts are equal. */
const inOneForm = (name: string): string => name.normalize('NFKC').trim().toLowerCase()

/** Returns the row with this name, otherwise with a name that looks the same in another case. @throws Failure 2 for several rows, 3 for none */
function byName<Row extends { id: string }>(
  what: string,
  wanted: string,
  rows: Row[],
  namesOf: (row: Row) => (string | undefined)[],
): Row {
  const named = (text: (name: string) => string) =>
    rows.filter((row) => namesOf(row).some((name) => name !== undefined && text(name) === text(wanted)))
  const same = named((name) => name.normalize())
  const found = same.length > 0 ? same : named(inOneForm)
  if (found.length === 1) return found[0]!
  const list = (some: string[]) =>
    some.slice(0, maxCandidates).join(', ') + (some.length > maxCandidates ? ', …' : '')
  if (found.length > 1)
    throw usageError(
      `Several ${what}s are named ${wanted}: pass one of the ids ${list(found.map((row) => row.id))}`,
    )
  const names = rows.flatMap((row) => namesOf(row)[0] ?? [])
  throw notFound(`No ${what} is named ${wanted}${names.length > 0 ? `; the names are ${list(names)}` : ''}`)
}

/** Returns the id of a task. @param text an id, or a number such as `42` or `#42` in the project */
export async function findTask(cli: Cli, docket: Docket, text: string, project?: string): Promise<string> {
  if (isId(text)) return text.toLowerCase()
  const [, digits] = /^#?(\d{1,15})$/.exec(text) ?? []
  if (!digits) throw usageError(`A task is an id or a number such as 42, not ${text}`)
  const projectId = await findProject(cli, docket, project)
  const task = await taskByNumber(docket, projectId, Number(digits))
  if (!task) throw notFound(`The project has no task #${digits}`)
  return task.id
}

/** The service has no filter for numbers. Newer tasks have higher numbers, so the search begins at the nearer end. */
async function taskByNumber(docket: Docket, projectId: string, number: number): Promise<Task | undefined> {
  const [newest] = await docket.tasks.list({ projectId, sort: '-createdAt', limit: 1 })
  const sort = number > (newest?.number ?? 0) / 2 ? '-createdAt' : 'createdAt'
  for await (const task of docket.tasks.list({ projectId, sort, limit: pageLimit }))
    if (task.number === number) return task
  return undefined
}

/** Returns the texts between commas, without spaces and empty texts. */
export const partsOf = (text: string): string[] => text.split(',').flatMap((part) => part.trim() || [])

/** Returns the ids of labels. @param text ids or names, separated by commas */
export async function findLabels(
  docket: Docket,
  text: string,
  projectOf: () => Promise<string>,
): Promise<string[]> {
  const given = partsOf(text)
  if (given.every(isId)) return given
  const labels = await docket.labels.list({ projectId: await projectOf(), limit: pageLimit }).all()
  return given.map((one) => (isId(one) ? one : byName('label', one, labels, ({ name }) => [name]).id))
}

/** Returns the id of a user. @param text an id, `me`, or the name or email of a member */
export async function findUser(
  docket: Docket,
  text: string,
  projectOf: () => Promise<string>,
): Promise<string> {
  if (isId(text)) return text.toLowerCase()
  if (text === 'me') return (await docket.account.get()).id
  return byName('member', text, await usersOf(docket, await projectOf()), ({ name, email }) => [name, email])
    .id
}

/** Returns the owner and the members of a project. */
export async function usersOf(docket: Docket, projectId: string) {
  const [{ owner }, members] = await Promise.all([
    docket.projects.get(projectId),
    docket.members.list({ projectId, limit: pageLimit }).all(),
  ])
  return [owner, ...members.map(({ user }) => user)].flatMap((user) => user ?? [])
}
