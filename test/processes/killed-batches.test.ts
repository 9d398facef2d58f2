import { expect, test } from 'bun:test'
import { eventually, openPair, upTo } from '../races/pair.ts'
import { make, type Person } from '../support/client.ts'
import { faultsOf } from '../support/history.ts'

const operations = (name: string) => [
  { op: 'task.create', as: 'new', title: name },
  { op: 'subtask.create', taskId: '#new', title: name },
  { op: 'comment.create', taskId: '#new', text: name },
]

test('a batch is whole or absent, and once what its answer says, when the process that writes it is killed', async () => {
  await using pair = await openPair()
  const { id: projectId } = await make(pair.atA, '/projects', { name: 'P' })
  const path = `/projects/${projectId}/batch`
  const told = new Set<string>()
  let goesOn = true
  /** Sends one batch after another, each under a key, until it is answered. */
  async function write(who: Person, name: string): Promise<void> {
    for (let n = 0; goesOn; n++) {
      const title = `${name} ${n}`
      const sent = who.post(path, { operations: operations(title) }, { 'idempotency-key': title })
      const answer = await sent.catch(() => null)
      if (answer === null) return // its process is gone
      if (answer.status === 200) told.add(title)
    }
  }
  const writers = upTo(8).map((n) => write(n % 2 ? pair.atA : pair.atB, `w${n}`))
  await eventually('forty batches', () => told.size >= 40)
  await pair.a.stop('SIGKILL')
  const before = told.size
  await eventually('twenty more', () => told.size >= before + 20)
  goesOn = false
  await Promise.all(writers)

  const rows = await pair.sql<{ batch: number; types: string; title: string }[]>`
    select batch::float8 as batch, string_agg(type, ' ' order by seq) as types, min(after ->> 'title') as title
    from events where project_id = ${projectId} and batch is not null group by batch`
  const whole = 'task.created subtask.created comment.created'
  for (const { types } of rows) expect(types).toBe(whole)
  const titles = rows.map(({ title }) => title)
  expect(new Set(titles).size).toBe(titles.length)
  expect([...told].filter((title) => !titles.includes(title))).toEqual([])
  expect(await faultsOf(pair.sql)).toEqual([])
})
