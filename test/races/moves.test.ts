import type { TaskRow } from '../../drizzle/rows.ts'
import { keyOf } from '../../modules/order/keys.ts'
import { allPages, faultsOf, make, makeProjects, openPair, Random, statuses, upTo } from '../kit.ts'
import type { Answer, Body, Client } from '../kit.ts'

const pair = await openPair()
const { atA, atB, sql } = pair
const [movers, tasks, movesEach] = [100, 20, 4]

interface Sent {
  id: string
  place: { before?: string; after?: string; place?: string }
}

test('100 clients at two processes move tasks at the same time; each move places its task where the client wanted', async () => {
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

async function openMove() {
  const [left, right] = (await makeProjects(pair.atA, 2)) as [string, string]
  return { left, right, task: await make(pair.atA, '/tasks', { title: 'Moving', projectId: left }) }
}

async function repeatUntil(end: Promise<unknown>, work: (n: number) => Promise<Answer>): Promise<Answer[]> {
  let going = true
  void end.finally(() => (going = false)).catch(() => {})
  const answers: Answer[] = []
  for (let n = 0; going; n++) answers.push(await work(n))
  return answers
}

test('a task that concurrent requests move between two projects is in exactly one of them afterwards', async () => {
  const { atA, atB, sql } = pair
  const { left, right, task } = await openMove()
  const answers = await Promise.all(
    upTo(40).map((n) =>
      (n % 2 ? atA : atB).patch(`/tasks/${task.id}`, { projectId: n % 4 < 2 ? left : right }),
    ),
  )
  expect(statuses(answers)).toEqual({ 200: 40 })
  const lists = await Promise.all([left, right].map((id) => atB.get(`/tasks?projectId=${id}`)))
  expect(lists.flatMap(({ body }) => body.map(({ id }) => id))).toEqual([task.id])
  expect(await faultsOf(sql)).toEqual([])
})

test('moves in both directions at both processes, with other writes in between, all succeed', async () => {
  const { atA, atB, sql } = pair
  const [left, right] = (await makeProjects(atA, 2)) as [string, string]
  const tasks = await Promise.all(
    upTo(20).map((n) => make(atA, '/tasks', { title: `Task ${n}`, projectId: n % 2 ? left : right })),
  )
  const moveAndReturn = async (client: Client, { id, projectId }: Body) => {
    const answers: Answer[] = []
    const other = projectId === left ? right : left
    for (const n of upTo(6))
      answers.push(await client.patch(`/tasks/${id}`, { projectId: n % 2 ? other : projectId }))
    return answers
  }
  const moves = Promise.all(tasks.map((task, n) => moveAndReturn(n % 4 < 2 ? atA : atB, task)))
  const [creations, patches] = await Promise.all([
    repeatUntil(moves, (n) => atA.post('/tasks', { title: `New ${n}`, projectId: n % 2 ? left : right })),
    repeatUntil(moves, (n) => atB.patch(`/projects/${n % 2 ? left : right}`, { description: `Words ${n}` })),
  ])
  expect(statuses((await moves).flat())).toEqual({ 200: 120 })
  expect(statuses(creations)).toEqual({ 201: creations.length })
  expect(statuses(patches)).toEqual({ 200: patches.length })
  const rows = await sql<{ id: string; projectId: string }[]>`
    select id, project_id from tasks where id = any(${tasks.map(({ id }) => id)}::uuid[])`
  const byId = (all: { id: string; projectId?: unknown }[]) =>
    new Map(all.map(({ id, projectId }) => [id, projectId]))
  expect(byId(rows)).toEqual(byId(tasks))
  expect(await faultsOf(sql)).toEqual([])
})

test('requests for a task and its subtasks never return 404 while the task moves', async () => {
  const { atA, atB, sql } = pair
  const { left, right, task } = await openMove()
  const subtask = await make(atB, `/tasks/${task.id}/subtasks`, { title: 'Along' })
  const moves = (async () => {
    const answers: Answer[] = []
    for (const n of upTo(60))
      answers.push(await atA.patch(`/tasks/${task.id}`, { projectId: n % 2 ? right : left }))
    return answers
  })()
  const others = await Promise.all([
    repeatUntil(moves, (n) => atB.patch(`/tasks/${task.id}`, { title: `Title ${n}` })),
    repeatUntil(moves, () => atB.patch(`/tasks/subtasks/${subtask.id}/toggle`)),
    repeatUntil(moves, () => atB.get(`/tasks/${task.id}`)),
    repeatUntil(moves, () => atB.get(`/tasks/${task.id}/subtasks`)),
  ])
  expect(statuses(await moves)).toEqual({ 200: 60 })
  for (const answers of others) expect(statuses(answers)).toEqual({ 200: answers.length })
  expect(await faultsOf(sql)).toEqual([])
})

test('log and rows agree after children are added, changed and deleted while their task moves', async () => {
  const { atA, atB, sql } = pair
  const { left, right, task } = await openMove()
  const { id } = task
  let going = true
  const write = async (client: Client) => {
    const answers: Answer[] = []
    for (let n = 0; going; n++) {
      const subtask = await client.post(`/tasks/${id}/subtasks`, { title: `Step ${n}` })
      const comment = await client.post(`/tasks/${id}/comments`, { text: `Words ${n}` })
      const toggled = await client.patch(`/tasks/subtasks/${subtask.body.id}/toggle`)
      const edited = await client.patch(`/tasks/comments/${comment.body.id}`, { text: `Other ${n}` })
      answers.push(subtask, comment, toggled, edited)
      if (n % 2) answers.push(await client.delete(`/tasks/comments/${comment.body.id}`))
      else answers.push(await client.delete(`/tasks/subtasks/${subtask.body.id}`))
    }
    return answers
  }
  const writing = [atA, atB, atA, atB].map(write)
  const moves: Answer[] = []
  for (const n of upTo(40)) {
    const client = n % 3 ? atA : atB
    moves.push(await client.patch(`/tasks/${id}`, { projectId: n % 2 ? left : right }))
  }
  going = false
  const answers = (await Promise.all(writing)).flat()
  expect(statuses(moves)).toEqual({ 200: 40 })
  expect(Object.keys(statuses(answers)).sort()).toEqual(['200', '201'])
  expect(answers.length).toBeGreaterThan(20)
  expect(await faultsOf(sql)).toEqual([])
})
