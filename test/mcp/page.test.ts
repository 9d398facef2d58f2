import { expect, test } from 'bun:test'
import { blocksOf } from '../docs/page.ts'
import { openScene } from '../support/scene.ts'
import { connect } from './mcp-client.ts'

const { service, ada } = await openScene(['Ada'])
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
