import type { Answer, Body, Client } from '../kit.ts'
import { roles, at, fieldsOf, labelName, colors, labelIdsIn, fieldOf, optionsOf } from './verb-values.ts'
import { valuesIn, statuses, blockersIn, viewOf } from './verb-values.ts'
import type { World } from './world.ts'

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
export type Ask = (world: World, client: Client, choices: Choices) => Promise<Answer> | undefined

const someone = ({ people }: World, n: number) => at([null, ...people], n)?.id ?? null

const on =
  (
    list: keyof World,
    ask: (it: Body, client: Client, choices: Choices, world: World) => Promise<Answer>,
  ): Ask =>
  (world, client, choices) => {
    const it = at(world[list] as Body[], choices.pick)
    return it && ask(it, client, choices, world)
  }
const adding =
  (list: keyof World, verb: Ask): Ask =>
  async (world, client, choices) => {
    const answer = await verb(world, client, choices)
    if (answer?.status === 201) (world[list] as Body[]).push(answer.body)
    return answer as Answer
  }

export const verbs = {
  openProject: adding('projects', (_, client, { value }) => client.post('/projects', { name: `P${value}` })),
  changeProject: on('projects', ({ id }, client, { value }) =>
    client.patch(`/projects/${id}`, {
      name: `P${value}`,
      description: value % 2 ? `About ${value}` : null,
      textEdits: value % 7 ? 'last-write-wins' : 'if-match',
    }),
  ),
  deleteProject: on('projects', ({ id }, client) => client.delete(`/projects/${id}`)),
  invite: adding(
    'members',
    on('projects', ({ id }, client, { other, value }, { people }) =>
      client.post(`/projects/${id}/members/invite`, {
        email: at(people, other)?.email,
        role: at(roles, value),
      }),
    ),
  ),
  setRole: on('members', ({ id, projectId }, client, { value }) =>
    client.patch(`/projects/${projectId}/members/${id}/role`, { role: at(roles, value) }),
  ),
  removeMember: on('members', ({ id, projectId }, client) =>
    client.delete(`/projects/${projectId}/members/${id}`),
  ),
  createTask: adding(
    'tasks',
    on('projects', ({ id: projectId }, client, { other, value }, world) =>
      client.post('/tasks', {
        ...{ projectId, title: `T${value}`, assigneeId: someone(world, other) },
        ...fieldsOf(value),
        ...(value % 4 === 0 && { labelIds: labelIdsIn(world, projectId, other) }),
        ...(value % 4 === 1 && { fields: valuesIn(world, projectId, other) }),
        ...(value % 4 === 2 && world.tasks.length > 0 && { blockedByIds: [at(world.tasks, other)!.id] }),
      }),
    ),
  ),
  changeTask: on('tasks', ({ id }, client, { value }) =>
    client.patch(`/tasks/${id}`, { ...fieldsOf(value), ...(value % 2 && { title: `C${value}` }) }),
  ),
  assignTask: on('tasks', ({ id }, client, { other }, world) =>
    client.patch(`/tasks/${id}`, { assigneeId: someone(world, other) }),
  ),
  placeTask: on('tasks', ({ id }, client, { other, value }, { tasks }) => {
    const near = at(tasks, other)!.id
    return client.patch(`/tasks/${id}`, {
      ...at(
        [{ before: near }, { after: near }, { after: near }, { place: 'first' }, { place: 'last' }],
        value,
      ),
      ...(value % 3 === 0 && { status: at(statuses, other) }),
    })
  }),
  labelTask: on('tasks', ({ id, projectId }, client, { other, value }, world) =>
    client.patch(`/tasks/${id}`, {
      [at(['labelIds', 'addLabelIds', 'removeLabelIds'], value)!]: labelIdsIn(world, projectId, other),
    }),
  ),
  blockTask: on('tasks', ({ id }, client, { other, value }, world) =>
    client.patch(`/tasks/${id}`, blockersIn(world, other, value)),
  ),
  setValues: on('tasks', ({ id, projectId }, client, { value }, world) =>
    client.patch(`/tasks/${id}`, { fields: valuesIn(world, projectId, value) }),
  ),
  createField: adding(
    'fields',
    on('projects', ({ id }, client, { other, value }) =>
      client.post(`/projects/${id}/fields`, fieldOf(value, other)),
    ),
  ),
  changeField: on('fields', ({ id, ...field }, client, { value }) => {
    const isChoice = (field as { type?: string }).type === 'choice'
    return client.patch(`/fields/${id}`, {
      name: `F${value}`,
      ...(isChoice && { options: optionsOf(value) }),
    })
  }),
  createView: adding(
    'views',
    on('projects', ({ id }, client, { other, value }) =>
      client.post(`/projects/${id}/views`, viewOf(value, other)),
    ),
  ),
  changeView: on('views', ({ id }, client, { value: n }) => client.patch(`/views/${id}`, viewOf(n, n))),
  deleteView: on('views', ({ id }, client) => client.delete(`/views/${id}`)),
  deleteField: on('fields', ({ id }, client) => client.delete(`/fields/${id}`)),
  createLabel: adding(
    'labels',
    on('projects', ({ id }, client, { value }) =>
      client.post(`/projects/${id}/labels`, { name: labelName(value), color: at(colors, value) }),
    ),
  ),
  changeLabel: on('labels', ({ id }, client, { other, value }) =>
    client.patch(`/labels/${id}`, { name: labelName(value), color: at(colors, other) }),
  ),
  deleteLabel: on('labels', ({ id }, client) => client.delete(`/labels/${id}`)),
  moveTask: on('tasks', ({ id }, client, { other, value }, { projects }) =>
    client.patch(`/tasks/${id}`, {
      projectId: at(projects, other)?.id,
      ...(value % 2 && { title: `M${value}` }),
    }),
  ),
  // Subtasks that were cached before the first move must not be used after the task has moved back.
  thereAndBack: on('subtasks', async ({ id, taskId }, client, { pick, other }, { projects }) => {
    for (const n of [pick, other]) {
      await client.patch(`/tasks/${taskId}`, { projectId: at(projects, n)?.id })
      await client.patch(`/tasks/subtasks/${id}/toggle`)
    }
    return client.patch(`/tasks/${taskId}`, { projectId: at(projects, pick)?.id })
  }),
  appendToTask: on('tasks', ({ id }, client, { value }) =>
    client.post(`/tasks/${id}/append`, { field: 'description', text: `D${value}` }),
  ),
  claimTask: on('tasks', ({ id }, client, { value }) =>
    client.post(`/tasks/${id}/claim`, { leaseSeconds: 600 + value }),
  ),
  claimNext: on('projects', ({ id }, client, { value }) =>
    client.post(`/projects/${id}/claim-next`, { leaseSeconds: 600 + value }),
  ),
  releaseTask: on('tasks', ({ id }, client) => client.post(`/tasks/${id}/release`)),
  deleteTask: on('tasks', ({ id }, client) => client.delete(`/tasks/${id}`)),
  addSubtask: adding(
    'subtasks',
    on('tasks', ({ id }, client, { value }) => client.post(`/tasks/${id}/subtasks`, { title: `S${value}` })),
  ),
  toggleSubtask: on('subtasks', ({ id }, client) => client.patch(`/tasks/subtasks/${id}/toggle`)),
  changeSubtask: on('subtasks', ({ id }, client, { value }) =>
    client.patch(`/tasks/subtasks/${id}`, { title: `S${value}`, completed: value % 2 === 0 }),
  ),
  deleteSubtask: on('subtasks', ({ id }, client) => client.delete(`/tasks/subtasks/${id}`)),
  addComment: adding(
    'comments',
    on('tasks', ({ id }, client, { value }) => client.post(`/tasks/${id}/comments`, { text: `C${value}` })),
  ),
  editComment: on('comments', ({ id }, client, { value }) =>
    client.patch(`/tasks/comments/${id}`, { text: `C${value}` }),
  ),
  deleteComment: on('comments', ({ id }, client) => client.delete(`/tasks/comments/${id}`)),
  // Undoes one of the latest seven events, whose rows have often not changed since.
  undo: on('projects', async ({ id }, client, { value }) => {
    const { headers } = await client.get(`/projects/${id}`)
    const seq = Number(headers.get('docket-version') ?? 1) - (value % 7)
    return client.post(`/projects/${id}/undo`, { seq: Math.max(seq, 1) })
  }),
}

export type Verb = keyof typeof verbs
