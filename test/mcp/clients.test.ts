import { blocksOf } from '../docs/page.ts'
import { make, makeToken, openScene, withToken } from '../kit.ts'
import { connect, modes } from './mcp-client.ts'

const { service, ada } = await openScene(['Ada'])
const [engine, boat] = [
  await make(ada, '/projects', { name: 'Engine' }),
  await make(ada, '/projects', { name: 'Boat' }),
]
const task = await make(ada, '/tasks', { projectId: boat.id, title: 'Paint' })
const bound = await withToken(ada, { scopes: ['write'], projects: [engine.id] })
const { call } = await connect(service, bound.token)

test('a token limited to projects sees only these projects', async () => {
  const { body } = await call<{ projects: object[] }>('projects')
  expect(body.projects).toMatchObject([{ name: 'Engine' }])
  expect(await call('find')).toMatchObject({ body: { tasks: [] } })
  for (const [name, args] of [
    ['projects', { project: boat.id }],
    ['find', { project: 'Boat' }],
    ['find', { project: boat.id }],
    ['get', { id: task.id }],
    ['changes', { project: boat.id, after: 0 }],
    ['history', { project: boat.id }],
    ['history', { id: task.id }],
  ] as const) {
    const { isError, body } = await call(name, args)
    expect([name, isError, body.status]).toEqual([name, true, 404])
    expect(JSON.stringify(body.candidates ?? [])).not.toContain('Boat')
  }
})

test('a service account uses the tools in its project', async () => {
  const path = `/projects/${engine.id}/service-accounts`
  const account = await make(ada, path, { name: 'Robot', role: 'EDITOR' })
  const { token } = await makeToken(ada, { scopes: ['write'] }, `${path}/${account.id}/tokens`)
  const { call } = await connect(service, token)
  const operations = [{ op: 'task.create', title: 'Cast', assigneeId: 'me' }]
  expect(await call('apply', { project: 'Engine', key: 'r', operations })).toMatchObject({ isError: false })
  const { body } = await call('find', { project: 'Engine', assigneeId: 'me' })
  expect(body).toMatchObject({ tasks: [{ title: 'Cast', assignee: 'Robot' }] })
})

for (const mode of modes)
  test(`the official client lists and calls tools: ${JSON.stringify(mode)}`, async () => {
    const { client, call, close } = await connect(service, ada.token, mode)
    const { tools } = await client.listTools()
    expect(tools.map(({ name }) => name)).toContain('projects')
    const { body } = await call<{ projects: object[] }>('projects')
    expect(body.projects).toMatchObject([{ id: engine.id, name: 'Engine' }, { name: 'Boat' }])
    const operations = [{ op: 'task.create', title: JSON.stringify(mode) }]
    const args = { project: 'Engine', key: JSON.stringify(mode), operations }
    const [first, again] = [await call('apply', args), await call('apply', args)]
    expect(again.body).toEqual({ ...first.body, replayed: true })
    expect(await call('get', { id: engine.id })).toMatchObject({ isError: true, body: { status: 404 } })
    await expect(connect(service, 'invalid', mode)).rejects.toThrow()
    await close()
  })

const blocks = blocksOf('docs/mcp.md')
const textsOf = (wanted: string) => blocks.flatMap(({ language, text }) => (language === wanted ? text : []))

interface Settings {
  url?: string
  httpUrl?: string
  headers: { Authorization: string }
}
type SettingsFile = Record<'mcpServers' | 'servers', Record<'docket', Settings> | undefined>

test('the settings that the page shows for agents connect the official client', async () => {
  const files: SettingsFile[] = textsOf('json').map((text) => JSON.parse(text))
  expect(files).toHaveLength(3)
  for (const { mcpServers, servers } of files) {
    const { url, httpUrl, headers } = (mcpServers ?? servers)!.docket
    const path = new URL((url ?? httpUrl)!).pathname
    const token = headers.Authorization.replace(/^Bearer \$.*$/, ada.token!)
    const fetch: typeof service.fetch = (_, init) => service.fetch(path, init)
    const { client, close } = await connect({ fetch }, token)
    expect((await client.listTools()).tools.map(({ name }) => name)).toContain('apply')
    await close()
  }
  const others = [...textsOf('console'), ...textsOf('toml')].map(
    (text) => /https:\S*?\/mcp\b/.exec(text)?.[0],
  )
  expect(others).toEqual(Array(2).fill('https://docket.example.com/mcp'))
})
