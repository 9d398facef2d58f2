import { expect, test } from 'bun:test'
import { expireKeys } from '../../workers/cleanup.ts'
import { openPair, upTo } from '../races/pair.ts'
import { type Answer, type Client, invite, make, register } from '../support/client.ts'
import { expectRefusal } from './answers.ts'
import { forFile } from '../support/service.ts'

const used = 'This Idempotency-Key was used for another request'
const pair = await forFile(openPair())
const ada = pair.atA
const atB = pair.atB

let keys = 0
const newKey = () => `key-${++keys}`
const withKey = (key: string) => ({ 'idempotency-key': key })

interface Write {
  method: string
  path: string
  body?: object
  /** Something else in place of the body; a write without one has none. */
  other?: object
}

/** A fresh thing for every operation that writes, with the write. */
const writes: Record<string, () => Promise<Write>> = {
  'create a project': async () => post('/projects', { name: 'P' }, { name: 'Q' }),
  'change a project': async () => patch(`/projects/${await project()}`, { name: 'R' }, { name: 'S' }),
  'do many writes at once': async () => {
    const operations = [{ op: 'task.create', title: 'T' }]
    const more = [...operations, { op: 'project.update', name: 'S' }]
    return post(`/projects/${await project()}/batch?return=full`, { operations }, { operations: more })
  },
  'delete a project': async () => remove(`/projects/${await project()}`),
  invite: async () => {
    const [one, two] = await Promise.all([register(ada.as()), register(ada.as())])
    const path = `/projects/${await project()}/members/invite`
    return post(path, { email: one.email }, { email: two.email })
  },
  'set a role': async () => patch(`${await member()}/role`, { role: 'ADMIN' }, { role: 'EDITOR' }),
  'remove a member': async () => remove(await member()),
  'create a task': async () => {
    const projectId = await project()
    return post('/tasks', { title: 'T', projectId }, { title: 'U', projectId })
  },
  'change a task': async () => patch(`/tasks/${await task()}`, { title: 'V' }, { title: 'W' }),
  'move a task': async () => {
    const [projectId, elsewhere] = [await project(), await project()]
    return patch(`/tasks/${await task()}`, { projectId }, { projectId: elsewhere })
  },
  'delete a task': async () => remove(`/tasks/${await task()}`),
  'add a subtask': async () => post(`/tasks/${await task()}/subtasks`, { title: 'S' }, { title: 'R' }),
  'toggle a subtask': async () => ({ method: 'PATCH', path: `${await subtask()}/toggle` }),
  'change a subtask': async () => patch(await subtask(), { completed: true }, { completed: false }),
  'delete a subtask': async () => remove(await subtask()),
  'add a comment': async () => post(`/tasks/${await task()}/comments`, { text: 'C' }, { text: 'D' }),
  'edit a comment': async () => patch(await comment(), { text: 'E' }, { text: 'F' }),
  'delete a comment': async () => remove(await comment()),
}

const post = (path: string, body: object, other: object): Write => ({ method: 'POST', path, body, other })
const patch = (path: string, body: object, other: object): Write => ({ method: 'PATCH', path, body, other })
const remove = (path: string): Write => ({ method: 'DELETE', path })
const project = async () => (await make(ada, '/projects', { name: 'P' })).id
const task = async () => (await make(ada, '/tasks', { title: 'T', projectId: await project() })).id
const made = async (what: string, body: object) =>
  (await make(ada, `/tasks/${await task()}/${what}`, body)).id
const subtask = async () => `/tasks/subtasks/${await made('subtasks', { title: 'S' })}`
const comment = async () => `/tasks/comments/${await made('comments', { text: 'C' })}`
async function member() {
  const projectId = await project()
  const { id } = await invite(ada, projectId, await register(ada.as()))
  return `/projects/${projectId}/members/${id}`
}

const send = (who: Client, { method, path, body }: Write, key: string) =>
  who.call(method, path, body, withKey(key))
const told = ({ status, text, headers }: Answer) => ({ status, text, etag: headers.get('etag') })
const isReplay = ({ headers }: Answer) => headers.get('idempotency-replayed') === 'true'
const facts = async () => (await pair.sql`select 1 from events`).length

for (const [does, prepare] of Object.entries(writes)) {
  test(`${does}: a repeat is answered and not done again`, async () => {
    const write = await prepare()
    const key = newKey()
    const first = await send(ada, write, key)
    expect([first.status < 300, isReplay(first)]).toEqual([true, false])
    const before = await facts()
    for (const who of [ada, atB, ada]) {
      const again = await send(who, write, key)
      expect(told(again)).toEqual(told(first))
      expect(isReplay(again)).toBeTrue()
    }
    if (write.other) expectRefusal(await send(atB, { ...write, body: write.other }, key), 422, used)
    expect(await facts()).toBe(before)
  })

  test(`${does}: repeats at once, through two processes, are done once`, async () => {
    const write = await prepare()
    const key = newKey()
    const before = await facts()
    const answers = await Promise.all(upTo(12).map((n) => send(n % 2 ? ada : atB, write, key)))
    expect(new Set(answers.map((answer) => JSON.stringify(told(answer)))).size).toBe(1)
    expect(answers[0]!.status).toBeLessThan(300)
    expect(answers.filter((answer) => !isReplay(answer))).toHaveLength(1)
    // A move is two facts: one where the task left, one where it came.
    expect((await facts()) - before).toBe(does === 'move a task' ? 2 : 1)
  })
}

test('a key stands for one request, whatever else is asked with it', async () => {
  const key = newKey()
  const projectId = await project()
  expect((await ada.post('/tasks', { title: 'T', projectId }, withKey(key))).status).toBe(201)
  expectRefusal(await ada.post('/projects', { name: 'P' }, withKey(key)), 422, used)
  expectRefusal(await ada.patch(`/projects/${projectId}`, { name: 'P' }, withKey(key)), 422, used)
  expectRefusal(await ada.delete(`/projects/${projectId}`, withKey(key)), 422, used)
})

test('the first answer is given also when the thing is gone', async () => {
  const [first, second] = [newKey(), newKey()]
  const projectId = await project()
  const create = () => ada.post('/tasks', { title: 'T', projectId }, withKey(first))
  const created = await create()
  const path = `/tasks/${created.body.id}`
  const change = (who: Client) => who.patch(path, { title: 'U' }, withKey(second))
  const changed = await change(ada)
  await ada.delete(path)
  expect(told(await create())).toEqual(told(created))
  expect(told(await change(atB))).toEqual(told(changed))
  await ada.delete(`/projects/${projectId}`)
  expect(told(await create())).toEqual(told(created))
  expect(told(await change(atB))).toEqual(told(changed))
})

test('a change that changed nothing is answered the same after others changed it', async () => {
  const path = `/tasks/${await task()}`
  const key = newKey()
  const first = await ada.patch(path, { title: 'T' }, withKey(key))
  await atB.patch(path, { title: 'Other' })
  expect(told(await ada.patch(path, { title: 'T' }, withKey(key)))).toEqual(told(first))
  expect((await ada.get(path)).body.title).toBe('Other')
})

test('a refusal is not kept: the same key may do it right', async () => {
  const key = newKey()
  const projectId = await project()
  expectRefusal(await ada.post('/tasks', { projectId }, withKey(key)), 400)
  expectRefusal(await ada.post('/tasks', { title: 'T', projectId: 'none' }, withKey(key)), 404)
  const answer = await ada.post('/tasks', { title: 'T', projectId }, withKey(key))
  expect([answer.status, isReplay(answer)]).toEqual([201, false])
})

test('keys of different users never meet', async () => {
  const grace = await register(ada.as())
  const key = newKey()
  const hers = await ada.post('/projects', { name: 'P' }, withKey(key))
  const his = await grace.post('/projects', { name: 'P' }, withKey(key))
  expect([hers.status, his.status, isReplay(his)]).toEqual([201, 201, false])
  expect(hers.body.id).not.toBe(his.body.id)
})

test('a key is 1 to 255 printable characters, quoted or bare', async () => {
  const ask = (key: string) => ada.post('/projects', { name: 'P' }, withKey(key))
  for (const key of ['', '""', '   ', 'x'.repeat(256), `"${'x'.repeat(256)}"`, 'tab\there', 'ümlaut']) {
    expectRefusal(await ask(key), 400, /^Idempotency-Key must be /)
  }
  const bare = newKey()
  const first = await ask(bare)
  expect(told(await ask(`"${bare}"`))).toEqual(told(first))
  expect(told(await ask(` ${bare} `))).toEqual(told(first))
  for (const key of [
    'y'.repeat(255),
    `"${'z'.repeat(255)}"`,
    '"a \\" b \\\\ c"',
    'a b',
    "'; drop table users",
  ]) {
    expect((await ask(key)).status).toBe(201)
    expect(isReplay(await ask(key))).toBeTrue()
  }
})

test('an answer is kept for its hours and then removed, in bounded batches', async () => {
  const [old, young] = [newKey(), newKey()]
  const ask = (key: string) => ada.post('/projects', { name: 'P' }, withKey(key))
  const [first, second] = [await ask(old), await ask(young)]
  const { sql } = pair
  await sql`update idempotency_keys set created_at = now() - interval '24 hours 1 second' where key = ${old}`
  await expireKeys(sql, 24, { batchRows: 1, pauseMs: 0 })
  expect((await ask(old)).body.id).not.toBe(first.body.id)
  expect(told(await ask(young))).toEqual(told(second))
})
