import { expect, test } from 'bun:test'
import { type Answer, type Body, type Client, make } from '../support/client.ts'
import { faultsOf } from '../support/history.ts'
import { openPair, upTo, statuses } from './pair.ts'
import { forFile } from '../support/service.ts'
import { mostMoved } from '../../src/log/children.ts'

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

async function repeatDuring(other: Promise<unknown>, work: (n: number) => Promise<Answer>): Promise<Answer[]> {
  let going = true
  void other.finally(() => (going = false)).catch(() => {})
  const answers: Answer[] = []
  for (let n = 0; going; n++) answers.push(await work(n))
  return answers
}

test('concurrent moves in both directions at both processes all succeed, and so do other writes', async () => {
  const { atA, atB, sql } = pair
  const { left, right, all } = await twoProjects(20)
  const moveBackAndForth = async (client: Client, task: Body) => {
    const answers: Answer[] = []
    const there = task.projectId === left ? [right, left] : [left, right]
    for (const projectId of [...there, ...there, ...there])
      answers.push(await client.patch(`/tasks/${task.id}`, { projectId }))
    return answers
  }
  const moves = Promise.all(all.map((task, n) => moveBackAndForth(n % 4 < 2 ? atA : atB, task)))
  const others = await Promise.all([
    repeatDuring(moves, (n) => atA.post('/tasks', { title: `New ${n}`, projectId: n % 2 ? left : right })),
    repeatDuring(moves, (n) => atB.patch(`/projects/${n % 2 ? left : right}`, { description: `Words ${n}` })),
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

test('a task that is moved in both directions at once is in exactly one project', async () => {
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

test('requests for a task and its subtasks never return 404 while the task moves', async () => {
  const { atA, atB, sql } = pair
  const { left, right, all } = await twoProjects(1)
  const task = all[0]!
  const subtask = await make(atB, `/tasks/${task.id}/subtasks`, { title: 'Along' })
  const moves = (async () => {
    const answers: Answer[] = []
    for (const n of upTo(60))
      answers.push(await atA.patch(`/tasks/${task.id}`, { projectId: n % 2 ? right : left }))
    return answers
  })()
  const others = await Promise.all([
    repeatDuring(moves, (n) => atB.patch(`/tasks/${task.id}`, { title: `Title ${n}` })),
    repeatDuring(moves, () => atB.patch(`/tasks/subtasks/${subtask.id}/toggle`)),
    repeatDuring(moves, () => atB.get(`/tasks/${task.id}`)),
    repeatDuring(moves, () => atB.get(`/tasks/${task.id}/subtasks`)),
  ])
  expect(statuses(await moves)).toEqual({ 200: 60 })
  for (const answers of others) expect(statuses(answers)).toEqual({ 200: answers.length })
  expect(await faultsOf(sql)).toEqual([])
})

const left = (await make(pair.atA, '/projects', { name: 'Left' })).id
const right = (await make(pair.atA, '/projects', { name: 'Right' })).id

const taskIn = (projectId: string) => make(pair.atA, '/tasks', { title: 'Wheels', projectId })
const movedIn = (taskId: string) => pair.sql<{ before: object | null; after: { comments: Body[] } }[]>`
  select before, after from events where task_id = ${taskId} and type = 'task.moved_in' order by id`

test('the log is consistent when children are written, changed and deleted while their task moves', async () => {
  const { atA, atB, sql } = pair
  const { id } = await taskIn(left)
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

test('a task with many children moves in several consecutive events', async () => {
  const { atA, atB, sql } = pair
  const { id } = await taskIn(left)
  await Promise.all(upTo(150).map((n) => make(atA, `/tasks/${id}/subtasks`, { title: `Step ${n}` })))
  await Promise.all(upTo(100).map((n) => make(atB, `/tasks/${id}/comments`, { text: `Words ${n}` })))
  const { body, headers } = await atB.patch(`/tasks/${id}`, { projectId: right, title: 'Gone' })
  expect(body).toMatchObject({ title: 'Gone', projectId: right })
  expect((await movedIn(id)).map(({ before }) => before === null)).toEqual([true, false, false])
  const match = { 'if-match': headers.get('etag')! }
  expect((await atA.patch(`/tasks/${id}`, { title: 'Here' }, match)).status).toBe(200)
  expect(body).not.toHaveProperty('subtasks')
  expect(await faultsOf(sql)).toEqual([])
})

test('rejects a move of a task with too many children with 409', async () => {
  const { atA, sql } = pair
  const { id } = await taskIn(left)
  const fill = (rows: number) => sql`
    insert into comments (id, task_id, author_id, text, created_at, updated_at, event_id)
    select uuidv7(), ${id}, ${atA.id}, 'Words ' || n, now(), now(), uuidv7() from generate_series(1, ${rows}::int4) n`
  await fill(mostMoved.rows)
  expect((await atA.patch(`/tasks/${id}`, { projectId: right })).status).toBe(200)
  expect((await movedIn(id)).flatMap(({ after }) => after.comments)).toHaveLength(mostMoved.rows)
  await fill(1)
  const refused = await atA.patch(`/tasks/${id}`, { projectId: left })
  expect(refused.status).toBe(409)
  expect(refused.body.message).toStartWith(`A task with more than ${mostMoved.rows} subtasks and comments`)
  expect((await atA.get(`/tasks/${id}`)).body.projectId).toBe(right)
  expect((await atA.patch(`/tasks/${id}`, { projectId: right, title: 'Full' })).status).toBe(200)
})
