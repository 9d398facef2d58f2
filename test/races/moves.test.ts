import { expect, test } from 'bun:test'
import { type Answer, type Body, type Client, make } from '../support/client.ts'
import { faultsOf } from '../support/history.ts'
import { openPair, upTo, statuses } from './pair.ts'
import { forFile } from '../support/service.ts'

const pair = await forFile(openPair())

async function twoProjects(tasks: number) {
  const { atA } = pair
  const projects = [
    await make(atA, '/projects', { name: 'Left' }),
    await make(atA, '/projects', { name: 'Right' }),
  ]
  const [left, right] = projects.map(({ id }) => id) as [string, string]
  const all = await Promise.all(
    upTo(tasks).map((n) => make(atA, '/tasks', { title: `Task ${n}`, projectId: n % 2 ? left : right })),
  )
  return { left, right, all }
}

/** Runs `work` over and over until `other` is done. */
async function during(other: Promise<unknown>, work: (n: number) => Promise<Answer>): Promise<Answer[]> {
  let going = true
  void other.finally(() => (going = false)).catch(() => {})
  const answers: Answer[] = []
  for (let n = 0; going; n++) answers.push(await work(n))
  return answers
}

test('moves in both directions at both processes, with other writes between, all succeed', async () => {
  const { atA, atB, sql } = pair
  const { left, right, all } = await twoProjects(20)
  /** Sends a task to the other side and back, so that every request really moves it. */
  const wander = async (client: Client, task: Body) => {
    const answers: Answer[] = []
    const there = task.projectId === left ? [right, left] : [left, right]
    for (const projectId of [...there, ...there, ...there])
      answers.push(await client.patch(`/tasks/${task.id}`, { projectId }))
    return answers
  }
  const moves = Promise.all(all.map((task, n) => wander(n % 4 < 2 ? atA : atB, task)))
  const others = await Promise.all([
    during(moves, (n) => atA.post('/tasks', { title: `New ${n}`, projectId: n % 2 ? left : right })),
    during(moves, (n) => atB.patch(`/projects/${n % 2 ? left : right}`, { description: `Words ${n}` })),
  ])
  expect(statuses((await moves).flat())).toEqual({ 200: 120 })
  expect(statuses(others[0])).toEqual({ 201: others[0].length })
  expect(statuses(others[1])).toEqual({ 200: others[1].length })
  const rows = await sql<{ id: string; projectId: string }[]>`
    select id, project_id from tasks where id = any(${all.map(({ id }) => id)}::uuid[])`
  const home = new Map(all.map(({ id, projectId }) => [id, projectId]))
  expect(new Map(rows.map(({ id, projectId }) => [id, projectId]))).toEqual(home)
  expect(await faultsOf(sql)).toEqual([])
})

test('one task sent both ways at once from both processes stands in exactly one project', async () => {
  const { atA, atB, sql } = pair
  const { left, right, all } = await twoProjects(1)
  const task = all[0]!
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

test('a task that wanders is never refused as absent, nor is what hangs on it', async () => {
  const { atA, atB, sql } = pair
  const { left, right, all } = await twoProjects(1)
  const task = all[0]!
  const subtask = await make(atB, `/tasks/${task.id}/subtasks`, { title: 'Along' })
  const wandering = (async () => {
    const answers: Answer[] = []
    for (const n of upTo(60))
      answers.push(await atA.patch(`/tasks/${task.id}`, { projectId: n % 2 ? right : left }))
    return answers
  })()
  const others = await Promise.all([
    during(wandering, (n) => atB.patch(`/tasks/${task.id}`, { title: `Title ${n}` })),
    during(wandering, () => atB.patch(`/tasks/subtasks/${subtask.id}/toggle`)),
    during(wandering, () => atB.get(`/tasks/${task.id}`)),
    during(wandering, () => atB.get(`/tasks/${task.id}/subtasks`)),
  ])
  expect(statuses(await wandering)).toEqual({ 200: 60 })
  for (const answers of others) expect(statuses(answers)).toEqual({ 200: answers.length })
  expect(await faultsOf(sql)).toEqual([])
})
