import type { TaskRow } from '../../drizzle/rows.ts'
import { keyOf } from '../../modules/order/keys.ts'
import { allPages, faultsOf, make, makeProjects, openPair, Random, statuses, upTo } from '../kit.ts'
import type { Answer, Client } from '../kit.ts'

const { atA, atB, sql } = await openPair()
const either = (n: number) => (n % 2 ? atA : atB)
const [movers, tasks, movesEach] = [100, 20, 4]

interface Sent {
  id: string
  place: { before?: string; after?: string; place?: string }
}

test('100 clients at two processes move tasks at the same time; each move places its task where the client wanted', async () => {
  const random = new Random(24)
  const { id: projectId } = await make(atA, '/projects', { name: 'Board' })
  const ids = await Promise.all(
    upTo(tasks).map(async (n) => (await make(either(n), '/tasks', { title: `T${n}`, projectId })).id),
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
    const { status, headers } = await either(mover).patch(`/tasks/${id}`, place)
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

test('while tasks move to and fro at both processes, every other request for them and their projects succeeds', async () => {
  const projectIds = (await makeProjects(atA, 2)) as [string, string]
  const moving = await Promise.all(
    upTo(8).map((n) => make(atA, '/tasks', { title: `Task ${n}`, projectId: projectIds[n % 2] })),
  )
  const [{ id: taskId }] = moving as [(typeof moving)[number]]
  const subtask = await make(atB, `/tasks/${taskId}/subtasks`, { title: 'Along' })
  const moves = Promise.all(
    moving.map(async ({ id, projectId }, n) => {
      const other = projectIds.find((one) => one !== projectId)
      const answers: Answer[] = []
      for (const turn of upTo(6))
        answers.push(
          await either(n + (turn >> 1)).patch(`/tasks/${id}`, { projectId: turn % 2 ? other : projectId }),
        )
      return answers
    }),
  )
  let going = true
  void moves.finally(() => (going = false))
  const repeat = async (work: (n: number) => Promise<Answer>) => {
    const answers: Answer[] = []
    for (let n = 0; going; n++) answers.push(await work(n))
    return answers
  }
  const others = [
    repeat((n) => atB.patch(`/tasks/${taskId}`, { title: `Title ${n}` })),
    repeat((n) => either(n).patch(`/tasks/subtasks/${subtask.id}/toggle`)),
    repeat(() => atB.get(`/tasks/${taskId}`)),
    repeat(() => atB.get(`/tasks/${taskId}/subtasks`)),
    repeat((n) => atA.post('/tasks', { title: `New ${n}`, projectId: projectIds[n % 2] })),
    repeat((n) => atB.patch(`/projects/${projectIds[n % 2]}`, { description: `Words ${n}` })),
    ...[atA, atB].map((client) => writeChildren(client, taskId, () => going)),
  ]
  expect(statuses((await moves).flat())).toEqual({ 200: 48 })
  const answers = (await Promise.all(others)).flat()
  expect(Object.keys(statuses(answers))).toEqual(['200', '201'])
  const { body } = await atB.get(`/tasks/${taskId}`)
  expect(body.projectId).toBe(moving[0]!.projectId)
  expect(await faultsOf(sql)).toEqual([])
})

async function writeChildren(client: Client, id: string, isGoing: () => boolean): Promise<Answer[]> {
  const answers: Answer[] = []
  for (let n = 0; isGoing(); n++) {
    const subtask = await client.post(`/tasks/${id}/subtasks`, { title: `Step ${n}` })
    const comment = await client.post(`/tasks/${id}/comments`, { text: `Words ${n}` })
    const toggled = await client.patch(`/tasks/subtasks/${subtask.body.id}/toggle`)
    const edited = await client.patch(`/tasks/comments/${comment.body.id}`, { text: `Other ${n}` })
    const child = n % 2 ? `comments/${comment.body.id}` : `subtasks/${subtask.body.id}`
    answers.push(subtask, comment, toggled, edited, await client.delete(`/tasks/${child}`))
  }
  return answers
}
