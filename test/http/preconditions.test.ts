import { expect, test } from 'bun:test'
import { openPair, upTo } from '../races/pair.ts'
import { type Client, invite, make, register } from '../support/client.ts'
import { expectRefusal } from './answers.ts'
import { forFile } from '../support/service.ts'

const changed = 'The resource has changed: its ETag is not the one in If-Match'
const pair = await forFile(openPair())
const ada = pair.atA
const projectId = (await make(ada, '/projects', { name: 'P' })).id
const taskId = (await make(ada, '/tasks', { title: 'T', projectId })).id

/** A fresh thing that is changed and deleted at its path. */
interface Thing {
  who: Client
  path: string
  /** Where it is changed, when that is not its path. */
  at?: string
  /** A change that no other one repeats. */
  change: (n: number) => object | undefined
}

const things: Record<string, () => Promise<Thing>> = {
  project: async () => {
    const { id } = await make(ada, '/projects', { name: 'P' })
    return { who: ada, path: `/projects/${id}`, change: (n) => ({ name: `P ${n}` }) }
  },
  member: async () => {
    const { id } = await invite(ada, projectId, await register(ada.as()))
    const path = `/projects/${projectId}/members/${id}`
    return { who: ada, path, at: `${path}/role`, change: (n) => ({ role: n % 2 ? 'ADMIN' : 'EDITOR' }) }
  },
  task: async () => {
    const { id } = await make(ada, '/tasks', { title: 'T', projectId })
    return { who: ada, path: `/tasks/${id}`, change: (n) => ({ title: `T ${n}` }) }
  },
  subtask: async () => {
    const { id } = await make(ada, `/tasks/${taskId}/subtasks`, { title: 'S' })
    return { who: ada, path: `/tasks/subtasks/${id}`, change: (n) => ({ title: `S ${n}` }) }
  },
  'toggled subtask': async () => {
    const { id } = await make(ada, `/tasks/${taskId}/subtasks`, { title: 'S' })
    const path = `/tasks/subtasks/${id}`
    return { who: ada, path, at: `${path}/toggle`, change: () => undefined }
  },
  comment: async () => {
    const { id } = await make(ada, `/tasks/${taskId}/comments`, { text: 'C' })
    return { who: ada, path: `/tasks/comments/${id}`, change: (n) => ({ text: `C ${n}` }) }
  },
  account: async () => ({
    who: await register(ada.as()),
    path: '/auth/me',
    change: (n) => ({ name: `A ${n}` }),
  }),
}

const patch = ({ who, path, at = path, change }: Thing, n: number, ifMatch?: string, base = pair.a.url) =>
  who.at(base).patch(at, change(n), ifMatch === undefined ? {} : { 'if-match': ifMatch })
/** Changes the thing and gives the ETag it has from then on. */
async function touched(thing: Thing, n: number): Promise<string> {
  const { status, headers } = await patch(thing, n)
  expect(status).toBe(200)
  return headers.get('etag')!
}

for (const [what, prepare] of Object.entries(things)) {
  test(`${what}: a change goes through while its tag holds, and is refused after`, async () => {
    const thing = await prepare()
    const [old, now] = [await touched(thing, 1), await touched(thing, 2)]
    expect(now).not.toBe(old)
    for (const tag of [old, `W/${now}`, now.slice(1, -1), '"other"', '', `"other", W/${now}`]) {
      expectRefusal(await patch(thing, 3, tag), 412, changed)
    }
    const next = await patch(thing, 3, `"other", ${now}`)
    expect(next.status).toBe(200)
    expect((await patch(thing, 4, next.headers.get('etag')!)).status).toBe(200)
    expect((await patch(thing, 5, '*')).status).toBe(200)
  })

  test(`${what}: of twenty who hold the same tag, one changes it`, async () => {
    const thing = await prepare()
    const tag = await touched(thing, 0)
    const answers = await Promise.all(
      upTo(20).map((n) => patch(thing, what === 'member' ? 1 : n, tag, n % 2 ? pair.a.url : pair.b.url)),
    )
    const winners = answers.filter(({ status }) => status === 200)
    expect(answers.map(({ status }) => status).sort()).toEqual([200, ...upTo(19).map(() => 412)])
    expect((await patch(thing, 99, winners[0]!.headers.get('etag')!)).status).toBe(200)
  })

  test(`${what}: it is deleted only under the tag it has`, async () => {
    const thing = await prepare()
    const [old, now] = [await touched(thing, 1), await touched(thing, 2)]
    const remove = (tag: string, n = 0) =>
      thing.who.at(n % 2 ? pair.a.url : pair.b.url).delete(thing.path, { 'if-match': tag })
    for (const tag of [old, '"other"']) expectRefusal(await remove(tag), 412, changed)
    const statuses = (await Promise.all(upTo(6).map((n) => remove(now, n)))).map(({ status }) => status)
    expect(statuses.filter((status) => status === 200)).toHaveLength(1)
    expect(statuses.every((status) => [200, 401, 404].includes(status))).toBeTrue()
  })
}

test('a repeat under its key is answered also when the tag no longer holds, and anything new is not', async () => {
  const { id } = await make(ada, '/tasks', { title: 'T', projectId })
  const { headers } = await ada.get(`/tasks/${id}`)
  const conditions = { 'if-match': headers.get('etag')!, 'idempotency-key': `once-${id}` }
  const first = await ada.patch(`/tasks/${id}`, { title: 'U' }, conditions)
  const again = await pair.atB.patch(`/tasks/${id}`, { title: 'U' }, conditions)
  expect([first.status, again.status, again.text]).toEqual([200, 200, first.text])
  expectRefusal(await ada.patch(`/tasks/${id}`, { title: 'U' }, { 'if-match': conditions['if-match'] }), 412)
})
