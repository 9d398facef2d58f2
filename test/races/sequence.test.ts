import { expect, test } from 'bun:test'
import { make } from '../support/client.ts'
import { faultsOf } from '../support/history.ts'
import { requireKept, startLoad } from './load.ts'
import { openPair, upTo, makeProjects, statuses } from './pair.ts'
import { forFile } from '../support/service.ts'

const pair = await forFile(openPair())

test('writers at two processes give one project one history without gap or duplicate', async () => {
  const { atA, atB, sql } = pair
  const { id: projectId } = await make(atA, '/projects', { name: 'Hot' })
  const answers = await Promise.all(
    upTo(600).map((n) => (n % 2 ? atA : atB).post('/tasks', { title: `Task ${n}`, projectId })),
  )
  expect(statuses(answers)).toEqual({ 201: 600 })
  expect(answers.map(({ body }) => body.number).sort((x, y) => x - y)).toEqual(upTo(600))
  const rows = await sql<{ title: string }[]>`select title from tasks where project_id = ${projectId}`
  expect(new Set(rows.map(({ title }) => title))).toEqual(new Set(upTo(600).map((n) => `Task ${n}`)))
  const seqs = await sql<{ seq: number }[]>`
    select seq::float8 as seq from events where project_id = ${projectId} order by events.seq`
  expect(seqs.map(({ seq }) => seq)).toEqual(upTo(601))
  expect(await faultsOf(sql)).toEqual([])
})

test('steady writers on a few projects at both processes lose and double nothing', async () => {
  const { atA, atB, sql } = pair
  const projectIds = await makeProjects(atA, 3)
  const load = startLoad({ clients: [atA, atB], projectIds, writers: 16 })
  await load.acknowledged(1_000)
  await requireKept(sql, load, [])
})
