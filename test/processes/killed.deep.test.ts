import { eventually, faultsOf, make, makeProjects, openPair, type Person, upTo } from '../kit.ts'

const operations = (name: string) => [
  { op: 'task.create', as: 'new', title: name },
  { op: 'subtask.create', taskId: '#new', title: name },
  { op: 'comment.create', taskId: '#new', text: name },
  { op: 'task.delete', id: '#new' },
]

test('if a process is killed, each batch and undo is committed once or not at all', async () => {
  const pair = await openPair({})
  const { id: projectId } = await make(pair.atA, '/projects', { name: 'P' })
  const batches = new Set<string>()
  const undoReplies = new Map<number, string>()
  let isRunning = true
  /** Creates and deletes a task in a batch, then undoes the batch. Retries each request until it succeeds. */
  async function write(person: Person, name: string): Promise<void> {
    for (let n = 0; isRunning; n++) {
      const title = `${name} ${n}`
      const send = (path: string, body: object, key: string) =>
        person.post(`/projects/${projectId}/${path}`, body, { 'idempotency-key': key }).catch(() => null)
      const batch = await send('batch', { operations: operations(title) }, title)
      if (batch === null) return
      const seq = (batch.body as unknown as { version: number }).version
      if (batch.status !== 200) continue
      batches.add(title)
      const undo = await send('undo', { seq }, `undo ${title}`)
      if (undo === null) return
      if (undo.status === 200) undoReplies.set(seq, undo.text)
    }
  }
  const writers = upTo(8).map((n) => write(n % 2 ? pair.atA : pair.atB, `w${n}`))
  await eventually('forty undos', () => undoReplies.size >= 40)
  await pair.a.stop('SIGKILL')
  const before = undoReplies.size
  await eventually('twenty more undos', () => undoReplies.size >= before + 20)
  isRunning = false
  await Promise.all(writers)

  const rows = await pair.sql<{ undoes: number | null; types: string; title: string }[]>`
    select max(undoes)::float8 as undoes, string_agg(type, ' ' order by seq) as types, min(after ->> 'title') as title
    from events where project_id = ${projectId} and batch is not null group by batch, undoes`
  const batchRows = rows.filter(({ undoes }) => undoes === null)
  const undoRows = rows.filter(({ undoes }) => undoes)
  const createdTypes = 'task.created subtask.created comment.created'
  for (const { types } of batchRows) expect(types).toBe(`${createdTypes} task.deleted`)
  for (const { types } of undoRows) expect(types).toBe(createdTypes)
  const titles = batchRows.map(({ title }) => title)
  expect(new Set(titles).size).toBe(titles.length)
  expect([...batches].filter((title) => !titles.includes(title))).toEqual([])
  const seqs = undoRows.map(({ undoes }) => undoes)
  expect([...undoReplies.keys()].filter((seq) => !seqs.includes(seq))).toEqual([])
  for (const [seq, text] of undoReplies) expect(text).toContain(`"undoes":${seq},`)
  expect(await faultsOf(pair.sql)).toEqual([])
})

test('if a process is killed, each create with a key is committed once, and a repeat at the other process returns its task', async () => {
  const pair = await openPair({})
  const projectIds = await makeProjects(pair.atA, 4)
  const created = new Map<string, string>()
  let isRunning = true
  async function write(name: string, projectId: string): Promise<void> {
    for (let n = 0; isRunning; n++) {
      const title = `${name} ${n}`
      const send = (person: Person) =>
        person.post('/tasks', { projectId, title }, { 'idempotency-key': title }).catch(() => null)
      let answer = await send(pair.atA)
      while (answer?.status !== 201) answer = await send(pair.atB)
      created.set(title, answer.body.id)
    }
  }
  const writers = upTo(16).map((n) => write(`w${n}`, projectIds[n % 4]!))
  await eventually('a hundred tasks', () => created.size >= 100)
  await pair.a.stop('SIGKILL')
  const before = created.size
  await eventually('fifty more tasks', () => created.size >= before + 50)
  isRunning = false
  await Promise.all(writers)
  const rows = await pair.sql<{ title: string; id: string }[]>`
    select after ->> 'title' as title, entity_id as id from events where type = 'task.created'`
  expect(rows.map(({ title, id }) => `${title} ${id}`).sort()).toEqual(
    [...created].map(([title, id]) => `${title} ${id}`).sort(),
  )
  expect(await faultsOf(pair.sql)).toEqual([])
})
