import { expect } from 'bun:test'
import type { Sql } from '../../src/postgres/database.ts'
import { make } from '../support/client.ts'
import { faultsOf } from '../support/history.ts'
import { account, type Load, misnumbered, startLoad } from './load.ts'
import { type Pair, upTo } from './pair.ts'

/** Load on both processes while `trouble` happens: nobody may notice, not even by a 503. */
export async function unnoticedBy({ atA, atB, sql }: Pair, trouble: (load: Load) => Promise<void>) {
  const projects = await Promise.all(upTo(4).map(() => make(atA, '/projects', { name: 'Busy' })))
  // The first is hot: half of all writes go there.
  const projectIds = projects.flatMap(({ id }, i) => (i ? [id, projects[0]!.id] : [id]))
  const load = startLoad({ clients: [atA, atB], projectIds })
  await load.acknowledged(100)
  await trouble(load)
  await load.acknowledged(100)
  await requireUnnoticed(sql, load)
  expect(await faultsOf(sql)).toEqual([])
}

/** Ends a load: all of it was answered well, and stands once. */
export async function requireUnnoticed(sql: Sql, load: Load): Promise<void> {
  await load.stop()
  const { lost, doubled, writes, reads } = await account(sql, load)
  expect({ lost, doubled }).toEqual({ lost: [], doubled: [] })
  expect([...Object.keys(writes), ...Object.keys(reads)]).toEqual(['201', '200'])
  expect(await misnumbered(sql)).toHaveLength(0)
}
