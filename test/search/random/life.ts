import type { Random } from '../../faults/random.ts'
import type { Sql } from '../../../src/postgres/database.ts'
import { type Answer, type Client, type Person, versionOf } from '../../support/client.ts'
import type { Corpus, Doc, Kind } from './corpus.ts'
import { copyData } from './data-copy.ts'
import { randomText, randomTitle } from './texts.ts'

export interface Life {
  random: Random
  sql: Sql
  people: Person[]
  corpus: Corpus
  /** Restores all projects to an earlier state. */
  restore?: () => Promise<void>
}

type Verb = (life: Life, client: Client) => Promise<Answer | void> | undefined

const title = ({ random }: Life) => randomTitle(random)
const text = ({ random }: Life) => randomText(random, random.chance(0.05) ? 400 : 25)
const maybeText = (life: Life) => (life.random.chance(0.6) ? text(life) : null)
const some = ({ random, corpus }: Life, kind: Kind): Doc | undefined =>
  random.pick(corpus.docs.filter((doc) => doc.kind === kind))
/** Some external ids are words, so that they are also found in texts. */
const externalId = ({ random }: Life) =>
  random.chance(0.2) ? { externalId: `${random.pick(['EXT', 'plate', 'A B'])}-${random.below(1_000)}` } : {}

const on =
  (kind: Kind, verb: (doc: Doc, life: Life, client: Client) => ReturnType<Verb>): Verb =>
  (life, client) => {
    const doc = some(life, kind)
    return doc && verb(doc, life, client)
  }

const taskOf = (life: Life) => ({ title: title(life), description: maybeText(life), ...externalId(life) })

function operations(life: Life): object[] {
  const { random } = life
  const own = some(life, 'task')
  return [
    { op: 'task.create', as: 'a', ...taskOf(life) },
    { op: 'task.create', ...taskOf(life) },
    { op: 'subtask.create', taskId: '#a', title: title(life) },
    { op: 'comment.create', taskId: '#a', text: text(life) },
    { op: 'task.update', id: '#a', title: title(life) },
    ...(own && random.chance(0.5) ? [{ op: 'task.update', id: own.id, description: maybeText(life) }] : []),
    ...(own && random.chance(0.3) ? [{ op: 'task.delete', id: own.id }] : []),
  ]
}

const createTask = on('project', ({ id }, life, client) =>
  client.post('/tasks', { projectId: id, ...taskOf(life) }),
)
const comment = on('task', ({ id }, life, client) =>
  client.post(`/tasks/${id}/comments`, { text: text(life) }),
)
const subtask = on('task', ({ id }, life, client) =>
  client.post(`/tasks/${id}/subtasks`, { title: title(life) }),
)

const undo = on('project', async ({ id }, { random }, client) => {
  const seq = Math.max(1, (await versionOf(client, id)) - random.below(8))
  return client.post(`/projects/${id}/undo`, random.chance(0.2) ? { batch: seq } : { seq })
})

const verbs = {
  ...{ createTask, comment, subtask, undo },
  createProject: (life: Life, client: Client) =>
    client.post('/projects', { name: title(life), description: maybeText(life) }),
  changeProject: on('project', ({ id }, life, client) =>
    client.patch(`/projects/${id}`, { name: title(life), description: maybeText(life) }),
  ),
  deleteProject: on('project', ({ id }, _, client) => client.delete(`/projects/${id}`)),
  changeTitle: on('task', ({ id }, life, client) => client.patch(`/tasks/${id}`, { title: title(life) })),
  changeText: on('task', ({ id }, life, client) =>
    client.patch(`/tasks/${id}`, { description: maybeText(life), ...externalId(life) }),
  ),
  changeStatus: on('task', ({ id }, _, client) => client.patch(`/tasks/${id}`, { status: 'DONE' })),
  moveTask: on('task', ({ id }, life, client) =>
    client.patch(`/tasks/${id}`, { projectId: some(life, 'project')!.id }),
  ),
  deleteTask: on('task', ({ id }, _, client) => client.delete(`/tasks/${id}`)),
  changeSubtask: on('subtask', ({ id }, life, client) =>
    client.patch(`/tasks/subtasks/${id}`, { title: title(life) }),
  ),
  toggleSubtask: on('subtask', ({ id }, _, client) => client.patch(`/tasks/subtasks/${id}/toggle`)),
  deleteSubtask: on('subtask', ({ id }, _, client) => client.delete(`/tasks/subtasks/${id}`)),
  changeComment: on('comment', ({ id }, life, client) =>
    client.patch(`/tasks/comments/${id}`, { text: text(life) }),
  ),
  deleteComment: on('comment', ({ id }, _, client) => client.delete(`/tasks/comments/${id}`)),
  batch: on('project', ({ id }, life, client) =>
    client.post(`/projects/${id}/batch`, { operations: operations(life) }),
  ),
  invite: on('project', ({ id }, { random, people }, client) =>
    client.post(`/projects/${id}/members/invite`, { email: random.pick(people)!.email, role: 'ADMIN' }),
  ),
  removeMember: on('project', async ({ id }, { random }, client) => {
    const { body, status } = await client.get(`/projects/${id}/members`)
    const member = status === 200 ? random.pick([...body]) : undefined
    return member && client.delete(`/projects/${id}/members/${member.id}`)
  }),
  copyData: async (life: Life) => void (life.restore = await copyData(life.sql)),
  restoreData: async ({ restore }: Life) => restore?.(),
} satisfies Record<string, Verb>

const weights: Record<keyof typeof verbs, number> = {
  ...{ createProject: 2, changeProject: 2, deleteProject: 1, createTask: 14, changeTitle: 6, changeText: 8 },
  ...{ changeStatus: 2, moveTask: 8, deleteTask: 5, comment: 10, changeComment: 4, deleteComment: 3 },
  ...{ subtask: 6, changeSubtask: 3, toggleSubtask: 1, deleteSubtask: 2, batch: 4, undo: 14 },
  ...{ invite: 4, removeMember: 2, copyData: 1, restoreData: 1 },
}

/** Runs a random write; the service may reject it. @returns what was done @throws after a 5xx */
export async function writeRandomly(life: Life, client: Client): Promise<string> {
  const verb = life.random.weighted(weights)
  const answer = await verbs[verb](life, client)
  if (answer && ![200, 201, 400, 403, 404, 409].includes(answer.status))
    throw new Error(`${verb} got ${answer.status} ${answer.text}`)
  return `${verb} ${answer?.status ?? ''}`
}
