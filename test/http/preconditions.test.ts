import { createFullProject, expectError, fillPath, make, openPair, register, registerTeam } from '../kit.ts'
import { upTo } from '../kit.ts'
import type { Person } from '../kit.ts'

const changed = 'The resource has changed: If-Match does not contain its current ETag'
const pair = await openPair()
const ada = pair.atA
const projectId = (await make(ada, '/projects', { name: 'P' })).id

const people = { ...(await registerTeam(ada.as())), owner: ada }
const guest = await register(ada.as())

const kinds: [entity: string, path: string, change: (n: number) => object, below?: string][] = [
  ['project', '/projects/{id}', (n) => ({ name: `P ${n}` })],
  ['member', '/projects/{id}/members/{id}', (n) => ({ role: n % 2 ? 'ADMIN' : 'EDITOR' }), '/role'],
  ['task', '/tasks/{id}', (n) => ({ title: `T ${n}` })],
  ['subtask', '/tasks/subtasks/{id}', (n) => ({ title: `S ${n}` })],
  ['toggled subtask', '/tasks/subtasks/{id}', () => ({}), '/toggle'],
  ['comment', '/tasks/comments/{id}', (n) => ({ text: `C ${n}` })],
  ['account', '/auth/me', (n) => ({ name: `A ${n}` })],
]

/** Nginx adds `W/`, Apache and Caddy a suffix. */
const fromProxies = (tag: string) =>
  [
    `W/${tag}`,
    ...['gzip', 'br', 'zstd', 'deflate'].map((coding) => `${tag.slice(0, -1)}-${coding}"`),
  ].flatMap((one, n) => (n === 0 ? one : [one, `W/${one}`]))

async function prepare([entity, template, change, below = '']: (typeof kinds)[number]) {
  const path = fillPath(template, await createFullProject(people, guest))
  const others: Record<string, Person> = { comment: people.editor, account: await register(ada.as()) }
  return { client: others[entity] ?? ada, path, at: path + below, change }
}
type Resource = Awaited<ReturnType<typeof prepare>>

const patch = ({ client, at, change }: Resource, n: number, ifMatch?: string, base = pair.a.url) =>
  client.at(base).patch(at, change(n), ifMatch === undefined ? {} : { 'if-match': ifMatch })
async function update(resource: Resource, n: number): Promise<string> {
  const { status, headers } = await patch(resource, n)
  expect(status).toBe(200)
  return headers.get('etag')!
}

for (const kind of kinds) {
  const [entity] = kind
  test(`${entity}: accepts an update with the current ETag, and rejects a stale ETag with 412`, async () => {
    const resource = await prepare(kind)
    const [old, now] = [await update(resource, 1), await update(resource, 2)]
    expect(now).not.toBe(old)
    const similar = [now.toUpperCase(), now.slice(1, -1), `${now.slice(0, -2)}"`, `${now.slice(0, -1)}1"`]
    const others = ['"other"', 'W/"other"', '', '""', 'W/', 'W/""', `W/W/${now}`, `"W/${now.slice(1)}`]
    for (const tag of [old, `W/${old}`, ...similar, ...others, ...fromProxies(old)])
      expectError(await patch(resource, 3, tag), 412, changed)
    const next = await patch(resource, 3, `"other","another" , ${now}`)
    expect(next.status).toBe(200)
    expect((await patch(resource, 4, next.headers.get('etag')!)).status).toBe(200)
    expect((await patch(resource, 5, '*')).status).toBe(200)
  })

  test(`${entity}: accepts the current ETag as proxies that compress change it`, async () => {
    const resource = await prepare(kind)
    let tag = await update(resource, 1)
    for (const n of fromProxies(tag).keys()) {
      const { status, headers } = await patch(resource, n, `"other", ${fromProxies(tag)[n]}`)
      expect([n, status]).toEqual([n, 200])
      tag = headers.get('etag')!
    }
  })

  test(`${entity}: of twenty concurrent updates with one ETag, one succeeds`, async () => {
    const resource = await prepare(kind)
    const tag = await update(resource, 0)
    const answers = await Promise.all(
      upTo(20).map((n) => patch(resource, entity === 'member' ? 1 : n, tag, n % 2 ? pair.a.url : pair.b.url)),
    )
    const winners = answers.filter(({ status }) => status === 200)
    expect(answers.map(({ status }) => status).sort()).toEqual([200, ...upTo(19).map(() => 412)])
    expect((await patch(resource, 99, winners[0]!.headers.get('etag')!)).status).toBe(200)
  })

  test(`${entity}: is deleted only with its current ETag`, async () => {
    const resource = await prepare(kind)
    const [old, now] = [await update(resource, 1), await update(resource, 2)]
    const remove = (tag: string, n = 0) =>
      resource.client.at(n % 2 ? pair.a.url : pair.b.url).delete(resource.path, { 'if-match': tag })
    for (const tag of [old, '"other"']) expectError(await remove(tag), 412, changed)
    const statuses = (await Promise.all(upTo(6).map((n) => remove(now, n)))).map(({ status }) => status)
    expect(statuses.filter((status) => status === 200)).toHaveLength(1)
    expect(statuses.every((status) => [200, 401, 404].includes(status))).toBeTrue()
  })
}

test('a repeat with its Idempotency-Key returns the first response although the ETag is stale now', async () => {
  const { id } = await make(ada, '/tasks', { title: 'T', projectId })
  const { headers } = await ada.get(`/tasks/${id}`)
  const conditions = { 'if-match': headers.get('etag')!, 'idempotency-key': `once-${id}` }
  const first = await ada.patch(`/tasks/${id}`, { title: 'U' }, conditions)
  const again = await pair.atB.patch(`/tasks/${id}`, { title: 'U' }, conditions)
  expect([first.status, again.status, again.text]).toEqual([200, 200, first.text])
  expectError(await ada.patch(`/tasks/${id}`, { title: 'U' }, { 'if-match': conditions['if-match'] }), 412)
})
