import { expect, test } from 'bun:test'
import { openPair, upTo } from '../races/pair.ts'
import { type Person, make, register } from '../support/client.ts'
import { expectError } from './responses.ts'
import { createFullProject, registerTeam, fillPath } from './scene.ts'
import { forFile } from '../support/service.ts'

const changed = 'The resource has changed: If-Match does not contain its current ETag'
const pair = await forFile(openPair())
const ada = pair.atA
const projectId = (await make(ada, '/projects', { name: 'P' })).id

const people = { ...(await registerTeam(ada.as())), owner: ada }
const guest = await register(ada.as())

const kinds: [what: string, path: string, change: (n: number) => object, below?: string][] = [
  ['project', '/projects/{id}', (n) => ({ name: `P ${n}` })],
  ['member', '/projects/{id}/members/{id}', (n) => ({ role: n % 2 ? 'ADMIN' : 'EDITOR' }), '/role'],
  ['task', '/tasks/{id}', (n) => ({ title: `T ${n}` })],
  ['subtask', '/tasks/subtasks/{id}', (n) => ({ title: `S ${n}` })],
  ['toggled subtask', '/tasks/subtasks/{id}', () => ({}), '/toggle'],
  ['comment', '/tasks/comments/{id}', (n) => ({ text: `C ${n}` })],
  ['account', '/auth/me', (n) => ({ name: `A ${n}` })],
]

async function prepare([what, template, change, below = '']: (typeof kinds)[number]) {
  const path = fillPath(template, await createFullProject(people, guest))
  const others: Record<string, Person> = { comment: people.editor, account: await register(ada.as()) }
  return { who: others[what] ?? ada, path, at: path + below, change }
}
type Thing = Awaited<ReturnType<typeof prepare>>

const patch = ({ who, at, change }: Thing, n: number, ifMatch?: string, base = pair.a.url) =>
  who.at(base).patch(at, change(n), ifMatch === undefined ? {} : { 'if-match': ifMatch })
async function touched(thing: Thing, n: number): Promise<string> {
  const { status, headers } = await patch(thing, n)
  expect(status).toBe(200)
  return headers.get('etag')!
}

for (const kind of kinds) {
  const [what] = kind
  test(`${what}: a change goes through while its tag holds, and is refused after`, async () => {
    const thing = await prepare(kind)
    const [old, now] = [await touched(thing, 1), await touched(thing, 2)]
    expect(now).not.toBe(old)
    for (const tag of [old, `W/${now}`, now.slice(1, -1), '"other"', '', `"other", W/${now}`])
      expectError(await patch(thing, 3, tag), 412, changed)
    const next = await patch(thing, 3, `"other", ${now}`)
    expect(next.status).toBe(200)
    expect((await patch(thing, 4, next.headers.get('etag')!)).status).toBe(200)
    expect((await patch(thing, 5, '*')).status).toBe(200)
  })

  test(`${what}: of twenty who hold the same tag, one changes it`, async () => {
    const thing = await prepare(kind)
    const tag = await touched(thing, 0)
    const answers = await Promise.all(
      upTo(20).map((n) => patch(thing, what === 'member' ? 1 : n, tag, n % 2 ? pair.a.url : pair.b.url)),
    )
    const winners = answers.filter(({ status }) => status === 200)
    expect(answers.map(({ status }) => status).sort()).toEqual([200, ...upTo(19).map(() => 412)])
    expect((await patch(thing, 99, winners[0]!.headers.get('etag')!)).status).toBe(200)
  })

  test(`${what}: it is deleted only under the tag it has`, async () => {
    const thing = await prepare(kind)
    const [old, now] = [await touched(thing, 1), await touched(thing, 2)]
    const remove = (tag: string, n = 0) =>
      thing.who.at(n % 2 ? pair.a.url : pair.b.url).delete(thing.path, { 'if-match': tag })
    for (const tag of [old, '"other"']) expectError(await remove(tag), 412, changed)
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
  expectError(await ada.patch(`/tasks/${id}`, { title: 'U' }, { 'if-match': conditions['if-match'] }), 412)
})
