import { type Answer, type Client, type Person, type Random, type Sql, versionOf } from '../../kit.ts'
import type { Corpus, Doc, Kind } from './corpus.ts'
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

const tables = ['streams', 'projects', 'members', 'tasks', 'events', 'subtasks', 'comments']

/** Copies all rows that the log writes. The returned function restores them, like a backup without search. */
async function copyData(sql: Sql): Promise<() => Promise<void>> {
  const copies = tables.map((table) => `create table copies.${table} as table ${table}`)
  await sql.unsafe(['drop schema if exists copies cascade', 'create schema copies', ...copies].join(';'))
  const restored = tables.map((table) => `delete from ${table}; insert into ${table} table copies.${table}`)
  return async () => void (await sql.unsafe(restored.join(';')))
}

const paths = { project: '/projects', task: '/tasks', comment: '/tasks/comments', subtask: '/tasks/subtasks' }
const change = (kind: Kind, fields: (life: Life) => object) =>
  on(kind, ({ id }, life, client) => client.patch(`${paths[kind]}/${id}`, fields(life)))
const remove = (kind: Kind) => on(kind, ({ id }, _, client) => client.delete(`${paths[kind]}/${id}`))
const projectOf = (life: Life) => ({ name: title(life), description: maybeText(life) })

/** Each with its weight. */
const verbs: Record<string, [weight: number, verb: Verb]> = {
  createProject: [2, (life, client) => client.post('/projects', projectOf(life))],
  changeProject: [2, change('project', projectOf)],
  deleteProject: [1, remove('project')],
  createTask: [
    14,
    on('project', ({ id }, life, client) => client.post('/tasks', { projectId: id, ...taskOf(life) })),
  ],
  changeTitle: [6, change('task', (life) => ({ title: title(life) }))],
  changeText: [8, change('task', (life) => ({ description: maybeText(life), ...externalId(life) }))],
  changeStatus: [2, change('task', () => ({ status: 'DONE' }))],
  moveTask: [8, change('task', (life) => ({ projectId: some(life, 'project')!.id }))],
  deleteTask: [5, remove('task')],
  comment: [
    10,
    on('task', ({ id }, life, client) => client.post(`/tasks/${id}/comments`, { text: text(life) })),
  ],
  changeComment: [4, change('comment', (life) => ({ text: text(life) }))],
  deleteComment: [3, remove('comment')],
  subtask: [
    6,
    on('task', ({ id }, life, client) => client.post(`/tasks/${id}/subtasks`, { title: title(life) })),
  ],
  changeSubtask: [3, change('subtask', (life) => ({ title: title(life) }))],
  toggleSubtask: [1, on('subtask', ({ id }, _, client) => client.patch(`/tasks/subtasks/${id}/toggle`))],
  deleteSubtask: [2, remove('subtask')],
  batch: [
    4,
    on('project', ({ id }, life, client) =>
      client.post(`/projects/${id}/batch`, { operations: operations(life) }),
    ),
  ],
  undo: [
    14,
    on('project', async ({ id }, { random }, client) => {
      const seq = Math.max(1, (await versionOf(client, id)) - random.below(8))
      return client.post(`/projects/${id}/undo`, random.chance(0.2) ? { batch: seq } : { seq })
    }),
  ],
  invite: [
    4,
    on('project', ({ id }, { random, people }, client) =>
      client.post(`/projects/${id}/members/invite`, { email: random.pick(people)!.email, role: 'ADMIN' }),
    ),
  ],
  removeMember: [
    2,
    on('project', async ({ id }, { random }, client) => {
      const { body, status } = await client.get(`/projects/${id}/members`)
      const member = status === 200 ? random.pick([...body]) : undefined
      return member && client.delete(`/projects/${id}/members/${member.id}`)
    }),
  ],
  copyData: [1, async (life) => void (life.restore = await copyData(life.sql))],
  restoreData: [1, async ({ restore }) => restore?.()],
}
const weights = Object.fromEntries(Object.entries(verbs).map(([name, [weight]]) => [name, weight]))

/** Runs a random write; the service may reject it. @returns what was done @throws after a 5xx */
export async function writeRandomly(life: Life, client: Client): Promise<string> {
  const name = life.random.weighted(weights)
  const answer = await verbs[name]![1](life, client)
  if (answer && ![200, 201, 400, 403, 404, 409, 428].includes(answer.status))
    throw new Error(`${name} got ${answer.status} ${answer.text}`)
  return `${name} ${answer?.status ?? ''}`
}
