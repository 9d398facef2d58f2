import type { TaskRow } from '../../drizzle/rows.ts'
import type { Random } from '../kit.ts'

/** The data of the reference implementation: the tasks, the existing labels, the reader and the time. */
export interface Known {
  tasks: TaskRow[]
  labels: Set<string>
  me: string
  now: number
}

export type Query = Record<string, string>
type Matches = (task: TaskRow, value: string, known: Known) => boolean

const shownLabels = ({ labelIds }: TaskRow, { labels }: Known) =>
  (labelIds ?? []).filter((id) => labels.has(id))
const holder = ({ claimedBy, claimedUntil }: TaskRow, { now }: Known) =>
  claimedBy && Date.parse(claimedUntil!) > now ? claimedBy : null

function isReady(task: TaskRow, known: Known): boolean {
  const by = holder(task, known)
  const blockers = known.tasks.filter(
    ({ id, projectId }) => projectId === task.projectId && task.blockedByIds?.includes(id),
  )
  const isFree = by === null || by === known.me
  return task.status !== 'DONE' && isFree && blockers.every(({ status }) => status === 'DONE')
}

/** Without a change of its place, a task has a key made from its number. */
const keyOf = ({ position, number }: TaskRow) => position ?? `j${String(number).padStart(10, '0')}`

function fits(task: TaskRow, name: string, wanted: string): boolean {
  const [, key = '', bound] = name.split('.')
  const value = (task.fields as Record<string, unknown> | null)?.[key]
  const stored = (value instanceof Object ? Object.values(value)[0] : value) as string | number | undefined
  if (stored === undefined) return false
  if (!bound) return String(stored) === wanted
  const [a, b] = typeof stored === 'number' ? [stored, Number(wanted)] : [stored, wanted]
  return bound === 'min' ? a >= b : a <= b
}

const filters: Record<string, Matches> = {
  projectId: (task, value) => task.projectId === value,
  status: (task, value) => task.status === value,
  priority: (task, value) => task.priority === value,
  assigneeId: (task, value, { me }) => task.assigneeId === (value === 'me' ? me : value),
  dueBefore: ({ dueDate }, value) => dueDate !== null && Date.parse(dueDate) < Date.parse(value),
  dueAfter: ({ dueDate }, value) => dueDate !== null && Date.parse(dueDate) > Date.parse(value),
  labels: (task, value, known) => value.split(',').every((id) => shownLabels(task, known).includes(id)),
  anyLabel: (task, value, known) => value.split(',').some((id) => shownLabels(task, known).includes(id)),
  noLabel: (task, _, known) => shownLabels(task, known).length === 0,
  blocks: ({ blockedByIds, projectId }, value, { tasks }) =>
    (blockedByIds ?? []).includes(value) &&
    tasks.some((one) => one.id === value && one.projectId === projectId),
  ready: (task, _, known) => isReady(task, known),
  claimedBy: (task, value, known) =>
    holder(task, known) === (value === 'me' ? known.me : value === 'none' ? null : value),
  externalId: ({ externalId }, value) => externalId === value,
  minAttempts: ({ attempts }, value) => (attempts ?? 0) >= Number(value),
}

const compare = <T extends string | number>(a: T, b: T) => (a < b ? -1 : a > b ? 1 : 0)

/** The reference implementation of `GET /tasks`: returns ids in the order of the list. */
export function expectedIds(query: Query, known: Known): string[] {
  const { sort = query.dueBefore || query.dueAfter ? 'dueDate' : 'createdAt' } = query
  const found = known.tasks.filter((task) =>
    Object.entries(query).every(([name, value]) =>
      name.startsWith('field.') ? fits(task, name, value) : (filters[name]?.(task, value, known) ?? true),
    ),
  )
  const due = ({ dueDate }: TaskRow) => (dueDate === null ? Infinity : Date.parse(dueDate))
  const inOrder = found.sort(
    (a, b) =>
      (sort === 'position' ? compare(keyOf(a), keyOf(b)) : 0) ||
      (sort.endsWith('dueDate') ? compare(due(a), due(b)) : 0) ||
      compare(a.id, b.id),
  )
  return (sort.startsWith('-') ? inOrder.reverse() : inOrder).map(({ id }) => id)
}

export const countedBy = ['status', 'priority', 'assigneeId', 'labelId', 'none']
const listed: Record<string, string[]> = {
  status: ['TODO', 'IN_PROGRESS', 'DONE'],
  priority: ['LOW', 'MEDIUM', 'HIGH'],
}

/** The reference implementation of `GET /tasks/counts`: returns the total, and the numbers by values. */
export function expectedCounts(query: Query, by: string, known: Known) {
  const ids = new Set(expectedIds(query, known))
  const tasks = by === 'none' ? [] : known.tasks.filter(({ id }) => ids.has(id))
  const numbers = new Map<string | null, number>((listed[by] ?? []).map((value) => [value, 0]))
  for (const task of tasks) {
    const values = by === 'labelId' ? shownLabels(task, known) : [task[by as 'status' | 'assigneeId']]
    for (const value of values.length > 0 ? values : [null]) numbers.set(value, (numbers.get(value) ?? 0) + 1)
  }
  const counts = [...numbers].map(([value, count]) => ({ value, count }))
  const places = ({ value, count }: (typeof counts)[number]) => [value === null ? 1 : 0, -count, value ?? '']
  const inOrder = listed[by] ? counts : counts.sort((a, b) => compareLists(places(a), places(b)))
  return { total: ids.size, counts: inOrder }
}

function compareLists(a: (string | number)[], b: (string | number)[]): number {
  const at = a.findIndex((one, n) => one !== b[n])
  return at < 0 ? 0 : compare(a[at]!, b[at]!)
}

/** Returns a query with up to `count` of the choices. */
export function randomQuery(
  random: Random,
  choices: Record<string, readonly string[]>,
  count: number,
): Query {
  const names = random.shuffled(Object.keys(choices)).slice(0, 1 + random.below(count))
  return Object.fromEntries(names.map((name) => [name, random.pick(choices[name]!)!]))
}

/** The form in which a task stores the value of a field. */
export const storedAs = (type: string, value: unknown) =>
  type === 'date' || type === 'choice' ? { [type]: value } : value

/** Fields of every project, with values of tasks. */
export const fields: {
  key: string
  type: string
  options?: string[]
  values: (string | number | boolean)[]
}[] = [
  { key: 'estimate', type: 'number', values: [1, 2.5, 3, 10, -4] },
  { key: 'note', type: 'text', values: ['a', 'A', '10', 'ä "x"'] },
  { key: 'done', type: 'boolean', values: [true, false] },
  { key: 'start', type: 'date', values: ['2027-01-01', '2027-02-01', '2027-10-01'] },
  { key: 'size', type: 'choice', options: ['S', 'M'], values: ['S', 'M'] },
]

/** Values of the filters that need a project. */
export const ofProject: Record<string, string[]> = {
  externalId: ['X-0', 'X-5', 'X-55', 'other'],
  ...Object.fromEntries(fields.map(({ key, values }) => [`field.${key}`, values.map(String)])),
  'field.estimate.min': ['2.5', '-100', '1e1'],
  'field.estimate.max': ['2.5', '0'],
  'field.start.min': ['2027-02-01'],
  'field.start.max': ['2027-02-01', '2026-12-31'],
}

/** Ends of claims. */
export const soon = '2200-01-01T00:00:00.000Z'
export const past = '2020-01-01T00:00:00.000Z'
