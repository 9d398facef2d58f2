import { expect, test } from 'bun:test'
import type { TaskRow } from '../../drizzle/rows.ts'
import { keyOf } from '../../modules/order/keys.ts'
import { Random } from '../faults/random.ts'
import { allPages } from '../http/list-pages.ts'
import { make } from '../support/client.ts'
import { faultsOf } from '../support/history.ts'
import { forFile } from '../support/service.ts'
import { openPair, upTo } from './pair.ts'

const { atA, atB, sql } = await forFile(openPair())
const [movers, tasks, movesEach] = [100, 20, 4]

interface Sent {
  id: string
  place: { before?: string; after?: string; place?: string }
}

test('100 concurrent movers in two processes make one order, in which each task was placed where its mover wanted', async () => {
  const random = new Random(24)
  const { id: projectId } = await make(atA, '/projects', { name: 'Board' })
  const ids = await Promise.all(
    upTo(tasks).map(async (n) => (await make(n % 2 ? atA : atB, '/tasks', { title: `T${n}`, projectId })).id),
  )
  /** By the ETag of the response: the id of the event. */
  const sent = new Map<string, Sent[]>()
  const move = async (mover: number) => {
    const [id, near] = random.shuffled(ids) as [string, string]
    // Half of the movers place tasks into one gap.
    const place = random.pick([
      ...Array(4).fill({ after: ids[0] }),
      ...[{ before: near }, { after: near }, { place: 'first' }, { place: 'last' }],
    ]) as Sent['place']
    if (place.after === id) return
    const { status, headers } = await (mover % 2 ? atA : atB).patch(`/tasks/${id}`, place)
    expect(status).toBe(200)
    const etag = headers.get('etag')!.slice(1, -1)
    sent.set(etag, [...(sent.get(etag) ?? []), { id, place }])
  }
  await Promise.all(
    upTo(movers).map(async (mover) => {
      for (let n = 0; n < movesEach; n++) await move(mover)
    }),
  )
  const events = await sql<{ id: string; after: TaskRow }[]>`
    select id, after from events where project_id = ${projectId} and entity = 'task' order by seq`
  const keys = new Map<string, string>()
  let checked = 0
  for (const { id, after } of events) {
    keys.set(after.id, keyOf(after))
    const order = sorted(keys)
    const places = (sent.get(id) ?? []).filter((one) => one.id === after.id)
    // A move that changed nothing has the same ETag as the move before.
    if (places.length > 0) expect(places.some((one) => isAt(order, one))).toBe(true)
    checked += places.length > 0 ? 1 : 0
  }
  expect(checked).toBeGreaterThan(movers)
  for (const user of [atA, atB]) {
    const pages = await allPages(user, `/tasks?projectId=${projectId}&sort=position&limit=7`)
    expect(pages.flat().map(({ id }) => id)).toEqual(sorted(keys))
  }
  expect(await faultsOf(sql)).toEqual([])
})

const sorted = (keys: Map<string, string>) =>
  [...keys].sort(([, one], [, other]) => (one < other ? -1 : 1)).map(([id]) => id)

function isAt(order: string[], { id, place: { before, after, place } }: Sent): boolean {
  const n = order.indexOf(id)
  if (before) return order[n + 1] === before
  return after ? order[n - 1] === after : n === (place === 'first' ? 0 : order.length - 1)
}
