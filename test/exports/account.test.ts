import { readdir } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { setTimeout as sleep } from 'node:timers/promises'
import { gunzipSync } from 'node:zlib'
import { unpackTar } from 'modern-tar'
import { cases, createApp, eventually, forFile, invite, make, makeToken, openScene } from '../kit.ts'
import { register } from '../kit.ts'
import type { Client } from '../kit.ts'
import { expectTransactions, exported, linesOf, withoutTime } from './scene.ts'

const { service, client, ada, bea, sql } = await openScene(['Ada', 'Bea'])

const requestOf = (caller: Client) =>
  service.fetch('/api/v1/export', { headers: { authorization: `Bearer ${caller.token}` } })

async function filesOf(caller: Client): Promise<Map<string, string>> {
  const response = await requestOf(caller)
  expect([response.status, response.headers.get('content-type')]).toEqual([200, 'application/gzip'])
  const entries = await unpackTar(gunzipSync(await response.arrayBuffer()))
  return new Map(entries.map(({ header, data }) => [header.name, Buffer.from(data!).toString()]))
}

const spooledFiles = async () => (await readdir(tmpdir())).filter((name) => name.startsWith('docket-export-'))
/** Other test files share the folder. */
const untilNoFiles = () =>
  eventually('the removal of the files', async () => (await spooledFiles()).length === 0)

test('returns the account, its tokens without secrets, and a file for each project that the caller may see', async () => {
  const own = await make(ada, '/projects', { name: 'Engine' })
  await make(ada, '/tasks', { projectId: own.id, title: 'Draw' })
  const shared = await make(bea, '/projects', { name: 'Mill' })
  await invite(bea, shared.id, ada)
  await make(bea, '/projects', { name: 'Hidden' })
  const token = await makeToken(ada)
  const files = await filesOf(ada)
  const account = JSON.parse(files.get('account.json')!)
  expect(account).toEqual({
    account: (await ada.get('/auth/me')).body,
    tokens: (await ada.get('/tokens')).body,
  })
  expect(files.get('account.json')).not.toContain(token.token)
  const names = [`engine-${own.id}.docket.ndjson`, `mill-${shared.id}.docket.ndjson`]
  expect([...files.keys()]).toEqual(['account.json', ...names])
  for (const [n, { id }] of [own, shared].entries())
    expect(withoutTime(files.get(names[n]!)!)).toBe(withoutTime(await exported(ada, id)))
  await untilNoFiles()
  // With a token, the export has only the projects of the token, and no tokens.
  const bound = await makeToken(ada, { projects: [own.id], scopes: ['read'] })
  const seen = await filesOf(client.as(bound.token))
  expect([...seen.keys()]).toEqual(['account.json', names[0]!])
  expect(JSON.parse(seen.get('account.json')!).tokens).toBeNull()
})

test('works for an account with many projects', async () => {
  const count = cases(100)
  const { id } = await make(ada, '/projects', { name: 'First' })
  await sql`insert into projects (id, owner_id, name, created_at, event_id)
    select uuidv7(), owner_id, 'Project ' || n, created_at, uuidv7()
    from projects, generate_series(1, ${count}::int) n where id = ${id}`
  await sql`insert into streams (project_id, version, last_number)
    select id, 1, 0 from projects where name like 'Project %'`
  const files = await filesOf(ada)
  expect(files.size).toBeGreaterThan(count)
  for (const [name, text] of files)
    if (name.startsWith('project-')) expect(linesOf(text).at(-1)).toEqual({ kind: 'end', lines: 2 })
}, 60_000)

test('a disconnect leaves no file and no transaction', async () => {
  const reader = (await requestOf(ada)).body!.getReader()
  await reader.read()
  await reader.cancel()
  await untilNoFiles()
  await expectTransactions(sql, 0)
  expect((await requestOf(ada)).status).toBe(200)
})

test('an account export may send nothing for longer than the idle timeout while it stores a project', async () => {
  const app = createApp(service.services).listen({ hostname: '127.0.0.1', port: 0, idleTimeout: 1 })
  await forFile({ stop: () => app.server!.stop(true) })
  const { database } = service.services
  const { exports } = database
  const begin = async (how: string, work: (sql: object) => Promise<unknown>) => {
    // Bun closes an idle connection within 4 seconds.
    await sleep(6_000)
    return exports.begin(how, work)
  }
  const get = (pool: typeof exports, name: string) => (name === 'begin' ? begin : Reflect.get(pool, name))
  Object.assign(database, { exports: new Proxy(exports, { get: get as never }) })
  const owner = await register(client)
  await make(owner, '/projects', { name: 'Large' })
  const headers = { authorization: `Bearer ${owner.token}` }
  const response = await fetch(`http://127.0.0.1:${app.server!.port}/api/v1/export`, { headers })
  const { status } = response
  expect({ status, bytes: (await response.arrayBuffer()).byteLength > 100 }).toEqual({
    status: 200,
    bytes: true,
  })
}, 20_000)
