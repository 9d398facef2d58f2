import { createFullProject, expectError, fillPath, forFile, openTeam, openTestService } from '../kit.ts'
import { register, statuses, upTo } from '../kit.ts'
import type { Person } from '../kit.ts'

const changed = 'The resource has changed: If-Match does not contain its current ETag'
const { service, client, people, owner, guest } = await openTeam(['Guest'], {})
const other = await forFile(openTestService(service.env))

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
  const others: Record<string, Person> = { comment: people.editor, account: await register(client) }
  const by = others[entity] ?? owner
  const at = (n: number) => (n % 2 ? by : other.client.as(by.token))
  const headersOf = (tag?: string): Record<string, string> => (tag === undefined ? {} : { 'if-match': tag })
  return {
    patch: (n: number, tag?: string, value = n) => at(n).patch(path + below, change(value), headersOf(tag)),
    remove: (n: number, tag: string) => at(n).delete(path, headersOf(tag)),
  }
}

test.each(kinds)(
  '%s: accepts the current ETag in every form, and rejects any other with 412',
  async (...kind) => {
    const { patch } = await prepare(kind as never)
    const next = async (n: number, tag?: string) => {
      const { status, headers } = await patch(n, tag)
      expect([n, tag, status]).toEqual([n, tag, 200])
      return headers.get('etag')!
    }
    const old = await next(1)
    let now = await next(2, old)
    expect(now).not.toBe(old)
    const similar = [now.toUpperCase(), now.slice(1, -1), `${now.slice(0, -2)}"`, `${now.slice(0, -1)}1"`]
    const others = ['"other"', 'W/"other"', '', '""', 'W/', 'W/""', `W/W/${now}`, `"W/${now.slice(1)}`]
    for (const tag of [old, `W/${old}`, ...similar, ...others, ...fromProxies(old)])
      expectError(await patch(3, tag), 412, changed)
    now = await next(3, `"other","another" , ${now}`)
    for (const n of fromProxies(now).keys()) now = await next(n + 4, `"other", ${fromProxies(now)[n]}`)
    await next(99, '*')
  },
)

test.each(kinds)('%s: of concurrent updates or deletions with one ETag, one succeeds', async (...kind) => {
  const { patch, remove } = await prepare(kind as never)
  const tag = (await patch(0)).headers.get('etag')!
  const answers = await Promise.all(upTo(12).map((n) => patch(n, tag, kind[0] === 'member' ? 1 : n)))
  expect(statuses(answers)).toEqual({ 200: 1, 412: 11 })
  const now = answers.find(({ status }) => status === 200)!.headers.get('etag')!
  for (const stale of [tag, '"other"']) expectError(await remove(1, stale), 412, changed)
  const {
    200: deleted,
    401: revoked = 0,
    404: missing = 0,
  } = statuses(await Promise.all(upTo(6).map((n) => remove(n, now))))
  expect([deleted, revoked + missing]).toEqual([1, 5])
})
