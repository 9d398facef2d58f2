import { type Answer, at, type Client, eventually, expireEvents, invite, make, type Person } from '../kit.ts'
import { type Random, register, type Sql, upTo, versionOf, words } from '../kit.ts'
import { type Doc, expectFound, type Kind, readDocs, visibleTo } from './reference.ts'

/** Few words, so that a query has hits in several texts, and words that begin alike. */
const vocabulary = words(
  `plate plates Plated wheel wheels brass brassy oil OIL oiled Größe GROESSE grosse Ærø ærø smørrebrød naïve NAIVE
  l'été ete Łódź lodz foo-bar foo bar foobar v1.2.3 v1 2 3 42 421 snake_case snake case a.b@c.de https://docket.example/x?y=z
  図面確認 図面 確認書 漢字かな カタカナ 한국어 한국 οδός ΟΔΌΣ Ёлка ёлка елка مرحبا नमस्ते שלום ไทย ２０２６ 2026 ﬁne fine ½ Ⅳ iv
  İstanbul istanbul ısı a an the C++ C# x`,
)
const gaps = [' ', ' ', ' ', ', ', '. ', '\n', ' / ', ' — ', ' 🚀 ']

/** Returns a text of 1 to `most` words. */
export function randomText(random: Random, most: number): string {
  let text = random.pick(vocabulary)!
  for (let left = random.below(most); left > 0; left--) text += random.pick(gaps)! + random.pick(vocabulary)!
  return text
}

/** A title has one line. */
export const randomTitle = (random: Random) => randomText(random, 5).replaceAll('\n', ' ')

/** Returns a query that usually has hits: its words are of `doc`, a current or an earlier row. */
export function randomQuery(random: Random, { id, externalId, number, title, text }: Doc): string {
  const own = words(`${title} ${text}`).filter((word) => /^[\p{L}\p{N}][^"]*$/u.test(word))
  if (own.length === 0 || random.chance(0.05)) return random.pick(vocabulary)!
  if (random.chance(0.06)) return random.pick([id, id.toUpperCase(), externalId ?? id])!
  const word = () => {
    const one = random.pick(random.chance(0.85) ? own : vocabulary)!
    return random.pick([one, one, one, one, one.toLowerCase(), one.toUpperCase()])!
  }
  const phrase = () => {
    const from = random.below(own.length)
    return `"${own.slice(from, from + 1 + random.below(3)).join(' ')}"`
  }
  const terms = [random.chance(0.3) ? phrase() : word()]
  while (random.chance(0.4)) terms.push(random.chance(0.2) ? phrase() : word())
  if (random.chance(0.15))
    terms.push(random.pick([`-${random.pick(vocabulary)}`, `-"${random.pick(vocabulary)}"`])!)
  if (number && random.chance(0.1)) terms.push(`#${number}`)
  const shuffled = random.shuffled(terms)
  const last = [...shuffled.at(-1)!]
  if (!/[-"#]/.test(last[0]!) && random.chance(0.5))
    shuffled.splice(-1, 1, last.slice(0, 1 + random.below(last.length)).join(''))
  return shuffled.join(' ')
}

interface Life {
  random: Random
  sql: Sql
  people: Person[]
  docs: Doc[]
  /** Restores all projects to an earlier state. */
  restore?: () => Promise<void>
}

type Write = (life: Life, client: Client) => Promise<Answer | void> | undefined

const text = ({ random }: Life) => randomText(random, random.chance(0.05) ? 400 : 25)
const maybe = (life: Life) => (life.random.chance(0.6) ? text(life) : null)
const some = ({ random, docs }: Life, kind: Kind) => random.pick(docs.filter((doc) => doc.kind === kind))
const on =
  (kind: Kind, write: (id: string, life: Life, client: Client) => ReturnType<Write>): Write =>
  (life, client) => {
    const doc = some(life, kind)
    return doc && write(doc.id, life, client)
  }

/** Some external ids are words, so that they are also found in texts. */
const fieldsOf: Record<Kind, (life: Life) => object> = {
  project: (life) => ({ name: randomTitle(life.random), description: maybe(life) }),
  task: (life) => ({
    ...{ title: randomTitle(life.random), description: maybe(life) },
    ...(life.random.chance(0.2) && {
      externalId: `${life.random.pick(['EXT', 'plate', 'A B'])}-${life.random.below(1_000)}`,
    }),
  }),
  comment: (life) => ({ text: text(life) }),
  subtask: ({ random }) => ({ title: randomTitle(random) }),
}
const paths = { project: '/projects', task: '/tasks', comment: '/tasks/comments', subtask: '/tasks/subtasks' }
/** A change of some fields. */
const change = (kind: Kind) =>
  on(kind, (id, life, client) => {
    const fields = Object.entries(fieldsOf[kind](life)).filter(() => life.random.chance(0.7))
    return client.patch(`${paths[kind]}/${id}`, Object.fromEntries(fields))
  })
const remove = (kind: Kind) => on(kind, (id, _, client) => client.delete(`${paths[kind]}/${id}`))
const addTo = (list: 'comments' | 'subtasks', kind: Kind) =>
  on('task', (id, life, client) => client.post(`/tasks/${id}/${list}`, fieldsOf[kind](life)))

function operations(life: Life): object[] {
  const own = some(life, 'task')?.id
  const { random } = life
  return [
    { op: 'task.create', as: 'a', ...fieldsOf.task(life) },
    { op: 'subtask.create', taskId: '#a', ...fieldsOf.subtask(life) },
    // A move has an event for each 100 comments.
    ...upTo(random.chance(0.2) ? 120 : 1).map((n) => ({
      op: 'comment.create',
      taskId: '#a',
      text: `Pin ${n}`,
    })),
    { op: 'task.update', id: '#a', title: randomTitle(random) },
    ...(own && random.chance(0.3) ? [{ op: 'task.delete', id: own }] : []),
  ]
}

const tables = ['streams', 'projects', 'members', 'tasks', 'events', 'subtasks', 'comments']

/** Copies all rows that the log writes. The returned function restores them, like a backup without search. */
async function copyRows(sql: Sql): Promise<() => Promise<void>> {
  const copies = tables.map((table) => `create table copies.${table} as table ${table}`)
  await sql.unsafe(['drop schema if exists copies cascade', 'create schema copies', ...copies].join(';'))
  const restored = tables.map((table) => `delete from ${table}; insert into ${table} table copies.${table}`)
  return async () => void (await sql.unsafe(restored.join(';')))
}

const writes: Record<string, Write> = {
  createProject: (life, client) => client.post('/projects', fieldsOf.project(life)),
  createTask: on('project', (projectId, life, client) =>
    client.post('/tasks', { projectId, ...fieldsOf.task(life) }),
  ),
  addComment: addTo('comments', 'comment'),
  addSubtask: addTo('subtasks', 'subtask'),
  moveTask: on('task', (id, life, client) =>
    client.patch(`/tasks/${id}`, { projectId: some(life, 'project')!.id }),
  ),
  changeProject: change('project'),
  changeTask: change('task'),
  changeComment: change('comment'),
  changeSubtask: change('subtask'),
  batch: on('project', (id, life, client) =>
    client.post(`/projects/${id}/batch`, { operations: operations(life) }),
  ),
  deleteComment: remove('comment'),
  deleteSubtask: remove('subtask'),
  deleteTask: remove('task'),
  deleteProject: remove('project'),
  undo: on('project', async (id, { random }, client) => {
    const seq = Math.max(1, (await versionOf(client, id)) - random.below(8))
    return client.post(`/projects/${id}/undo`, random.chance(0.2) ? { batch: seq } : { seq })
  }),
  invite: on('project', (id, { random, people }, client) =>
    client.post(`/projects/${id}/members/invite`, { email: random.pick(people)!.email, role: 'ADMIN' }),
  ),
  removeMember: on('project', async (id, { random }, client) => {
    const { body, status } = await client.get(`/projects/${id}/members`)
    const member = status === 200 ? random.pick([...body]) : undefined
    return member && client.delete(`/projects/${id}/members/${member.id}`)
  }),
  expireEvents: async ({ sql }) => {
    await sql`update events set at = now() - interval '31 days'`
    await expireEvents(sql, 30, { batchRows: 1_000, pauseMs: 0 })
  },
  loseIndex: async ({ sql }) => void (await sql`truncate search_documents, search_cursors`),
  copyRows: async (life) => void (life.restore = await copyRows(life.sql)),
  restoreRows: async ({ restore }) => restore?.(),
}
const weights = {
  ...{
    createTask: 14,
    addComment: 10,
    addSubtask: 6,
    moveTask: 8,
    changeTask: 14,
    changeComment: 4,
    changeSubtask: 4,
  },
  ...{ batch: 4, undo: 14, deleteTask: 5, deleteComment: 3, deleteSubtask: 2, invite: 4, removeMember: 2 },
  ...{ createProject: 2, changeProject: 2, deleteProject: 1 },
}
/** These also change the rows of other lives. */
const weightsOfAll = { expireEvents: 1, loseIndex: 1, copyRows: 1, restoreRows: 1 }

/** A life begins with these bursts of writes, so that each life contains what is difficult to index. */
const beginning = `createTask; batch; addComment addSubtask; moveTask; deleteTask; undo; changeTask moveTask;
  changeTask deleteComment deleteTask expireEvents; changeComment expireEvents loseIndex; createTask;
  copyRows changeTask addComment; restoreRows; addComment deleteTask`
const allowed = [undefined, 200, 201, 400, 403, 404, 409, 410, 428]
const types = [undefined, undefined, 'task', 'comment', 'project', 'task,comment', 'project,task']

/** Beside other writes and fills, the index may be behind for a moment. Then this client repeats the search. */
const patient = (client: Person): Person => ({
  ...client,
  async get(path, headers) {
    let answer = await client.get(path, headers)
    const isComplete = async () => {
      if (answer.headers.get('docket-indexed') === 'all') return true
      answer = await client.get(path, headers)
      return false
    }
    await eventually('the index', isComplete)
    return answer
  },
})

/**
 * Three users write to their projects at random and, after each burst of writes, search at one of the processes. Each
 * search must have exactly the hits of the reference.
 * @param urls the processes
 * @param isAlone false if other lives use the database at the same time
 */
export async function openLife(random: Random, client: Client, sql: Sql, urls: string[], isAlone: boolean) {
  const people = [await register(client, 'Ada'), await register(client, 'Bea'), await register(client, 'Cy')]
  for (const owner of people) {
    const { id } = await make(owner, '/projects', { name: 'Engine' })
    for (const one of people.slice(0, 2)) if (one !== owner) await invite(owner, id, one, 'ADMIN')
  }
  const readOwn = async () =>
    (await readDocs(sql)).filter(({ readers }) => people.some(({ id }) => readers.includes(id)))
  const life: Life = { random, sql, people, docs: await readOwn() }
  const used: Record<string, number> = { ...weights, ...(isAlone && weightsOfAll) }
  const bursts = beginning.split(';').map((burst) => words(burst).filter((name) => name in used))
  const counts = { writes: 0, found: 0 }
  const history: string[] = []
  const someone = () => at(random.pick(people)!, { url: random.pick(urls)! })

  async function write(name: string): Promise<void> {
    const answer = await writes[name]!(life, someone())
    history.push(`${name} ${answer?.status ?? ''}`)
    if (!allowed.includes(answer?.status)) throw new Error(`${name} got ${answer?.status} ${answer?.text}`)
    counts.writes++
  }

  async function searchFor(rows: Doc[]): Promise<void> {
    if (rows.length === 0) return
    const who = isAlone ? someone() : patient(someone())
    const docs = visibleTo(life.docs, who.id)
    const projectId = random.chance(0.2) ? random.pick(docs)?.projectId : undefined
    const scope = { projectId, types: random.pick(types) }
    if ((await expectFound(who, docs, randomQuery(random, random.pick(rows)!), scope)) > 0) counts.found++
  }

  return {
    ...{ counts, history },
    /** Writes, then searches for changed rows, before and after the change, and for any row. */
    async step(): Promise<void> {
      const before = life.docs
      for (const name of bursts.shift() ?? [random.weighted(used)]) await write(name)
      life.docs = await readOwn()
      const states = [before, life.docs].map((docs) => new Map(docs.map((doc) => [JSON.stringify(doc), doc])))
      const changed = states.flatMap((state, n) => [...state].filter(([text]) => !states[1 - n]!.has(text)))
      for (const rows of [changed.map(([, doc]) => doc), life.docs]) await searchFor(rows)
    },
  }
}
