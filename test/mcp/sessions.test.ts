import { invite, make, openScene, words } from '../kit.ts'
import { expectSession, sessionsIn } from '../support/sessions.ts'
import { connect } from './mcp-client.ts'

const { service, ...people } = await openScene(['Ada', 'Bea', 'Cay'])
const { ada, bea, cay } = people
const tools = {
  ada: await connect(service, ada.token),
  bea: await connect(service, bea.token),
  cay: await connect(service, cay.token),
}
let keys = 0

/*
 * Each section is a test. Ada owns its project Engine, in which Bea is an EDITOR and Cay a VIEWER. A list of operations
 * stands for an `apply` to this project. A call without a key gets one, and `bea$` is a call of Bea.
 */
test.each(sessionsIn('test/mcp/sessions'))('%s', async (_, steps) => {
  for (const { id } of (await ada.get('/projects')).body) await ada.delete(`/projects/${id}`)
  const { id } = await make(ada, '/projects', { name: 'Engine' })
  await invite(ada, id, bea, 'EDITOR')
  await invite(ada, id, cay, 'VIEWER')
  await expectSession(steps, async (command, by) => {
    const [, tool = '', text = ''] = /^(\w+) (.*)$/.exec(command)!
    const json = JSON.parse(text.replaceAll('@bea', bea.email).replaceAll('@cay', cay.email))
    const needsKey = words('apply undo').includes(tool)
    const given = Array.isArray(json) ? { project: 'Engine', operations: json } : json
    const args = { ...(needsKey && { key: `key ${++keys}` }), ...given }
    const { isError, text: answer } = await tools[(by || 'ada') as 'ada'].call(tool, args)
    expect([command, isError]).toEqual([command, answer.startsWith('{"error"')])
    return answer
  })
})
