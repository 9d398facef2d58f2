import { expect, test } from 'bun:test'
import { invite, make, type Person, register } from '../support/client.ts'
import { openTestService } from '../support/service.ts'
import { nextOf } from './walk.ts'
import { openScene } from '../support/scene.ts'

const { client, ada, grace } = await openScene(['Ada', 'Grace'])
const { id: projectId } = await make(ada, '/projects', { name: 'Engine' })
await invite(ada, projectId, grace, 'EDITOR')
await make(ada, '/projects', { name: "Ada's own" })
for (const assigneeId of [ada.id, grace.id, ada.id, grace.id])
  await make(ada, '/tasks', { title: 'Wheels', projectId, assigneeId, dueDate: '2030-01-01' })
const task = await make(ada, '/tasks', { title: 'Talk', projectId })
await make(grace, `/tasks/${task.id}/comments`, { text: 'Slow' })
await make(grace, `/tasks/${task.id}/subtasks`, { title: 'Oil' })
const mine = `/tasks?projectId=${projectId}&assigneeId=me`
const second = nextOf((await ada.get(`${mine}&limit=1`)).headers)!
/** Everything that can be read; both may read all of it. */
const paths: string[] = [
  ...['/auth/me', '/projects', '/projects?limit=1', `/projects/${projectId}`],
  ...[`/projects/${projectId}/members`, `/projects/${projectId}/events`],
  ...['/tasks', '/tasks?assigneeId=me', `/tasks?projectId=${projectId}`, `/tasks/${task.id}`],
  ...[mine, `${mine}&status=TODO`, `${mine}&sort=-dueDate`, `${mine}&dueAfter=2029-01-01`, second],
  ...[`/tasks/${task.id}/subtasks`, `/tasks/${task.id}/comments`],
]

test('the ETag of one caller never hides from another what they would see', async () => {
  for (const path of paths) {
    for (const [one, other] of [
      [ada, grace],
      [grace, ada],
    ] as const) {
      const [seen, own] = [await one.get(path), await other.get(path)]
      expect([path, seen.status, own.status]).toEqual([path, 200, 200])
      const answer = await other.get(path, { 'if-none-match': seen.headers.get('etag') ?? '"none"' })
      if (seen.text === own.text) continue
      expect([path, answer.status, answer.text]).toEqual([path, 200, own.text])
    }
  }
})

test('what differs between the callers of a list of one project is in its ETag, and nothing else', async () => {
  const tag = async (who: Person, path: string) => (await who.get(path)).headers.get('etag')
  const differing = []
  for (const path of paths) if ((await tag(ada, path)) !== (await tag(grace, path))) differing.push(path)
  const isOwn = (path: string) => /auth|me\b|\/projects(\?|$)/.test(path) && path !== '/tasks?assigneeId=me'
  expect(differing).toEqual(paths.filter(isOwn))
})

const kept = { 'cache-control': 'private, no-cache', vary: 'Authorization' }
const headersOf = ({ headers }: { headers: Headers }) =>
  Object.fromEntries(Object.keys(kept).map((name) => [name, headers.get(name)]))
/** Events come as a stream too, to who asks for that. */
const keptAt = (path: string) =>
  path.endsWith('/events') ? { ...kept, vary: 'Authorization, Accept' } : kept

test('every read says that it is for its caller alone and to be asked for again', async () => {
  for (const path of paths) {
    const answer = await ada.get(path)
    expect([path, headersOf(answer)]).toEqual([path, keptAt(path)])
    const again = await ada.get(path, { 'if-none-match': answer.headers.get('etag') ?? '"none"' })
    expect([path, again.status]).toEqual([path, answer.headers.has('etag') ? 304 : 200])
    expect([path, headersOf(again)]).toEqual([path, keptAt(path)])
    for (const refused of [await ada.as().get(path), await ada.get(path.replace(/\?.*|$/, '?unknown=1'))])
      if (refused.status !== 200) expect([path, headersOf(refused)]).toEqual([path, keptAt(path)])
  }
  expect(headersOf(await ada.get('/projects/none'))).toEqual(kept)
})

test('no cache keeps a token', async () => {
  const account = { name: 'Eve', email: 'eve@example.com', password: 'secret-1' }
  for (const path of ['/auth/register', '/auth/login'])
    expect((await client.post(path, account)).headers.get('cache-control')).toBe('no-store')
})

test('what depends on the origin too says both', async () => {
  const origin = 'https://app.example.com'
  await using open = await openTestService({ CORS_ORIGINS: origin })
  const eve = await register(open.client)
  for (const path of ['/auth/me', '/projects/none'])
    expect((await eve.get(path, { origin })).headers.get('vary')).toBe('Authorization, Origin')
  const tag = (await eve.get('/auth/me')).headers.get('etag')!
  const known = await eve.get('/auth/me', { 'if-none-match': tag })
  expect([known.status, known.headers.get('vary')]).toEqual([304, 'Authorization, Origin'])
  expect((await open.client.get('/../../health/live')).headers.get('vary')).toBe('Origin')
})
