import type { Answer, Body, Client, Person } from '../kit.ts'
import { words } from '../support/words.ts'

const lists = words('projects members tasks subtasks comments labels fields views')
type List = 'projects' | 'members' | 'tasks' | 'subtasks' | 'comments' | 'labels' | 'fields' | 'views'
/** The rows that the clients know: those that their requests created. */
export type World = Record<List, (Body & { key?: string; type?: string })[]> & { people: Person[] }
export const emptyWorld = (people: Person[]) =>
  ({ people, ...Object.fromEntries(lists.map((list) => [list, []])) }) as unknown as World

/** One request of a user to one of the processes. `pick`, `other` and `value` choose rows and values. */
export interface Step {
  verb: Verb
  who: number
  process: number
  pick: number
  other: number
  value: number
}

type Choices = Pick<Step, 'pick' | 'other' | 'value'>
export type Ask = (world: World, client: Client, choices: Choices) => Promise<Answer | undefined> | undefined

const at = <T>(list: T[], n: number): T | undefined => list[n % list.length]
const roles = ['VIEWER', 'EDITOR', 'ADMIN']
const statuses = ['TODO', 'IN_PROGRESS', 'DONE']
const dates = ['2030-01-01', '2030-01-02', '2030-01-03', '2020-01-01', '2030-01-04T12:00:00.5+02:00', null]
const reminders = [undefined, undefined, '2130-01-01', undefined, null, '2130-01-02T12:00:00Z']
const descriptions = ['long '.repeat(300), null, undefined, undefined, undefined, undefined, undefined]
const fieldsOf = (value: number) => ({
  ...{ status: at(statuses, value), priority: at(['LOW', 'MEDIUM', 'HIGH', undefined], value) },
  ...{ dueDate: at(dates, value), remindAt: at(reminders, value), description: at(descriptions, value) },
})
const someone = ({ people }: World, n: number) => at([null, ...people], n)?.id ?? null
/** Few names and keys, so that they are taken, and moved tasks find labels and fields with the same ones. */
const labelOf = (value: number, color: number) => ({
  ...{ name: `${value % 2 ? 'L' : 'l'}${value % 5}`, color: at(['#d73a4a', null, undefined], color) },
})
const optionsOf = (value: number) => at([['a'], ['b'], ['a', 'b']], value)!
const fieldOf = ({ other, value }: Choices) => {
  const type = at(['text', 'number', 'boolean', 'date', 'choice'], other)
  return {
    key: `k${value % 3}`,
    name: `F${value}`,
    type,
    options: type === 'choice' ? optionsOf(value) : null,
  }
}
const labelIdsIn = ({ labels }: World, projectId: string, other: number) => {
  const ids = labels.filter((one) => one.projectId === projectId).map(({ id }) => id)
  return ids.filter((_, n) => (other + n) % 3 !== 0).slice(0, 50)
}
const valuesOf: Record<string, unknown[]> = {
  ...{ text: ['a', '2030-01-01', null], number: [1, 2.5, null], boolean: [true, false, null] },
  ...{ date: ['2030-01-01', '2030-01-02', null], choice: ['a', 'b', null] },
}
const valuesIn = ({ fields }: World, projectId: string, value: number) => {
  const own = fields.filter((one) => one.projectId === projectId).slice(-3)
  const some = own.filter((_, n) => (value + n) % 3 !== 0)
  return Object.fromEntries(some.map(({ key, type }, n) => [key, at(valuesOf[type!]!, value + n)]))
}
/** One or two tasks, so that most changes form no cycle. */
const blockersIn = ({ tasks }: World, { other, value }: Choices) => {
  const ids = [at(tasks, other), ...(value % 3 ? [] : [at(tasks, other + 1)])].map((one) => one!.id)
  return { [at(['addBlockedByIds', 'addBlockedByIds', 'blockedByIds', 'removeBlockedByIds'], value)!]: ids }
}
const viewOf = (value: number, other: number) => {
  const queries = [
    {},
    { status: 'TODO' },
    { sort: '-dueDate', limit: '3' },
    { assigneeId: 'me' },
    { 'field.k0': 'a' },
  ]
  return { name: `V${value}`, query: at(queries, other) }
}

type BodyOf = (choices: Choices, it: World[List][number], world: World) => object

/** A request for a row of the list, whose fields replace `:id` and other names in the path. `adds`: the list of new rows. */
const to =
  (method: 'POST' | 'PATCH' | 'DELETE') =>
  (list: List, path: string, bodyOf?: BodyOf, adds?: List): Ask =>
  async (world, client, choices) => {
    const it = at(world[list], choices.pick)
    if (!it) return undefined
    const filled = path.replace(/:(\w+)/g, (_, name: 'id') => it[name])
    const answer = await client.call(method, filled, bodyOf?.(choices, it, world))
    if (answer.status === 201 && adds) world[adds].push(answer.body)
    return answer
  }
const [post, patch, remove] = [to('POST'), to('PATCH'), to('DELETE')]
const leaseOf = ({ value }: Choices) => ({ leaseSeconds: 600 + value })

const newTask: BodyOf = ({ other, value }, { id: projectId }, world) => ({
  ...{ projectId, title: `T${value}`, assigneeId: someone(world, other) },
  ...fieldsOf(value),
  ...(value % 4 === 0 && { labelIds: labelIdsIn(world, projectId, other) }),
  ...(value % 4 === 1 && { fields: valuesIn(world, projectId, other) }),
  ...(value % 4 === 2 && world.tasks.length > 0 && { blockedByIds: [at(world.tasks, other)!.id] }),
})

export const verbs = {
  async openProject({ projects }, client, { value }) {
    const answer = await client.post('/projects', { name: `P${value}` })
    if (answer.status === 201) projects.push(answer.body)
    return answer
  },
  changeProject: patch('projects', '/projects/:id', ({ value }) => ({
    name: `P${value}`,
    description: value % 2 ? `About ${value}` : null,
    textEdits: value % 7 ? 'last-write-wins' : 'if-match',
  })),
  deleteProject: remove('projects', '/projects/:id'),
  invite: post(
    'projects',
    '/projects/:id/members/invite',
    ({ other, value }, _, { people }) => ({ email: at(people, other)?.email, role: at(roles, value) }),
    'members',
  ),
  setRole: patch('members', '/projects/:projectId/members/:id/role', ({ value }) => ({
    role: at(roles, value),
  })),
  removeMember: remove('members', '/projects/:projectId/members/:id'),
  createTask: post('projects', '/tasks', newTask, 'tasks'),
  changeTask: patch('tasks', '/tasks/:id', ({ value }) => {
    return { ...fieldsOf(value), ...(value % 2 && { title: `C${value}` }) }
  }),
  assignTask: patch('tasks', '/tasks/:id', ({ other }, _, world) => ({ assigneeId: someone(world, other) })),
  placeTask: patch('tasks', '/tasks/:id', ({ other, value }, _, { tasks }) => {
    const near = at(tasks, other)!.id
    const places = [{ before: near }, { after: near }, { after: near }, { place: 'first' }, { place: 'last' }]
    return { ...at<object>(places, value), ...(value % 3 === 0 && { status: at(statuses, other) }) }
  }),
  labelTask: patch('tasks', '/tasks/:id', ({ other, value }, { projectId }, world) => ({
    [at(['labelIds', 'addLabelIds', 'removeLabelIds'], value)!]: labelIdsIn(world, projectId, other),
  })),
  blockTask: patch('tasks', '/tasks/:id', (choices, _, world) => blockersIn(world, choices)),
  setValues: patch('tasks', '/tasks/:id', ({ value }, { projectId }, world) => ({
    fields: valuesIn(world, projectId, value),
  })),
  createField: post('projects', '/projects/:id/fields', fieldOf, 'fields'),
  changeField: patch('fields', '/fields/:id', ({ value }, it) => ({
    name: `F${value}`,
    ...(it.type === 'choice' && { options: optionsOf(value) }),
  })),
  deleteField: remove('fields', '/fields/:id'),
  createView: post('projects', '/projects/:id/views', ({ value: n, other }) => viewOf(n, other), 'views'),
  changeView: patch('views', '/views/:id', ({ value }) => viewOf(value, value)),
  deleteView: remove('views', '/views/:id'),
  createLabel: post('projects', '/projects/:id/labels', ({ value: n }) => labelOf(n, n), 'labels'),
  changeLabel: patch('labels', '/labels/:id', ({ other, value }) => labelOf(value, other)),
  deleteLabel: remove('labels', '/labels/:id'),
  moveTask: patch('tasks', '/tasks/:id', ({ other, value }, _, { projects }) => ({
    ...{ projectId: at(projects, other)?.id, ...(value % 2 && { title: `M${value}` }) },
  })),
  // Subtasks that were cached before the first move must not be used after the task has moved back.
  async thereAndBack({ subtasks, projects }, client, { pick, other }) {
    const it = at(subtasks, pick)
    const move = (n: number) => client.patch(`/tasks/${it?.taskId}`, { projectId: at(projects, n)?.id })
    if (!it) return undefined
    for (const n of [pick, other]) {
      await move(n)
      await client.patch(`/tasks/subtasks/${it.id}/toggle`)
    }
    return move(pick)
  },
  appendToTask: post('tasks', '/tasks/:id/append', ({ value }) => ({
    field: 'description',
    text: `D${value}`,
  })),
  claimTask: post('tasks', '/tasks/:id/claim', leaseOf),
  claimNext: post('projects', '/projects/:id/claim-next', leaseOf),
  releaseTask: post('tasks', '/tasks/:id/release'),
  deleteTask: remove('tasks', '/tasks/:id'),
  addSubtask: post('tasks', '/tasks/:id/subtasks', ({ value }) => ({ title: `S${value}` }), 'subtasks'),
  toggleSubtask: patch('subtasks', '/tasks/subtasks/:id/toggle'),
  changeSubtask: patch('subtasks', '/tasks/subtasks/:id', ({ value }) => ({
    ...{ title: `S${value}`, completed: value % 2 === 0 },
  })),
  deleteSubtask: remove('subtasks', '/tasks/subtasks/:id'),
  addComment: post('tasks', '/tasks/:id/comments', ({ value }) => ({ text: `C${value}` }), 'comments'),
  editComment: patch('comments', '/tasks/comments/:id', ({ value }) => ({ text: `C${value}` })),
  deleteComment: remove('comments', '/tasks/comments/:id'),
  // Undoes one of the latest seven events, whose rows have often not changed since.
  async undo({ projects }, client, { pick, value }) {
    const { id } = at(projects, pick)!
    const { headers } = await client.get(`/projects/${id}`)
    const seq = Number(headers.get('docket-version') ?? 1) - (value % 7)
    return client.post(`/projects/${id}/undo`, { seq: Math.max(seq, 1) })
  },
} satisfies Record<string, Ask>

export type Verb = keyof typeof verbs
