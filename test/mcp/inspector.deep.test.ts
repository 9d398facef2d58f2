import { execFile } from 'node:child_process'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { forFile, make, newFolder, openWebProcess } from '../kit.ts'

const run = promisify(execFile)
/** Installed by this test, because the package has 110 MB. */
const inspector = '@modelcontextprotocol/inspector'
const version = '2.12.0'

const folder = await newFolder('docket-inspector-')
await run('npm', ['install', '--no-audit', '--ignore-scripts', '--prefix', folder, `${inspector}@${version}`])
const { web, ada } = await forFile(openWebProcess())
const project = await make(ada, '/projects', { name: 'Engine' })

async function inspect(...args: string[]) {
  const program = join(folder, 'node_modules', inspector, 'clients/launcher/build/index.js')
  const header = `Authorization: Bearer ${ada.token}`
  const target = ['--cli', `${web.url}/mcp`, '--transport', 'http', '--header', header]
  const { stdout } = await run('node', [program, ...target, '--method', ...args])
  return JSON.parse(stdout)
}

test('the command line of the MCP inspector lists and calls tools', async () => {
  for (const era of ['modern', 'legacy'])
    expect((await inspect('tools/list', '--protocol-era', era)).tools).toHaveLength(9)
  const operations = 'operations=[{"op":"task.create","title":"Draw"}]'
  const applied = await inspect(
    'tools/call',
    '--tool-name',
    'apply',
    '--tool-arg',
    'project=Engine',
    'key=k',
    operations,
  )
  expect(JSON.parse(applied.content[0].text)).toMatchObject({ batch: 2 })
  const found = await inspect('tools/call', '--tool-name', 'find', '--tool-arg', `project=${project.id}`)
  expect(JSON.parse(found.content[0].text)).toMatchObject({ tasks: [{ title: 'Draw' }] })
})
