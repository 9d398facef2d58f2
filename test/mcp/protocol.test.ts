import { expect, test } from 'bun:test'
import { make } from '../support/client.ts'
import { openScene } from '../support/scene.ts'
import { connect, modes } from './mcp-client.ts'

const { service, ada } = await openScene(['Ada'])
const project = await make(ada, '/projects', { name: 'Engine' })

for (const mode of modes)
  test(`the official client lists and calls tools: ${JSON.stringify(mode)}`, async () => {
    const { client, call, close } = await connect(service, ada.token, mode)
    const { tools } = await client.listTools()
    expect(tools.map(({ name }) => name)).toContain('projects')
    const { body } = await call<{ projects: object[] }>('projects')
    expect(body.projects).toMatchObject([{ id: project.id, name: 'Engine' }])
    const operations = [{ op: 'task.create', title: JSON.stringify(mode) }]
    const args = { project: 'Engine', key: JSON.stringify(mode), operations }
    const [first, again] = [await call('apply', args), await call('apply', args)]
    expect(again.body).toEqual({ ...first.body, replayed: true })
    expect(await call('get', { id: project.id })).toMatchObject({ isError: true, body: { status: 404 } })
    await expect(connect(service, 'invalid', mode)).rejects.toThrow()
    await close()
  })
