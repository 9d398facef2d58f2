import { invite, make, makeToken, openScene, type Person, register, words } from '../kit.ts'
import { expectSession, sessionsIn } from '../support/sessions.ts'
import { connect } from './scene.ts'

const { service, client, ada, bea, cay } = await openScene(['Ada', 'Bea', 'Cay'])
const zoe = await register(client, 'Zoë'.normalize('NFD'))
/** People who have a name that means another user. */
const [twin, me] = [await register(client, 'Bea'), await register(client, 'me')]
const namesake = await register(client, cay.email)
const emails = Object.entries({ bea, cay, zoe, twin, me, namesake }).flatMap(([name, { email }]) => [
  [name, email],
  [name.toUpperCase(), email.toUpperCase()],
])
/** In a command, `@bea` stands for an email, and `@beaId` for an id. */
let keys = 0

/** Returns the token with which a step calls a tool. The people and tokens have rights in the project Engine. */
async function tokenOf(by: string, engine: string): Promise<string> {
  const own = ({ '': ada, bea, cay } as Record<string, Person>)[by]
  if (own) return own.token!
  if (by === 'bound') return (await makeToken(ada, { scopes: ['write'], projects: [engine] })).token
  if (by !== 'robot') return (await makeToken(ada, { scopes: [by] })).token
  const path = `/projects/${engine}/service-accounts`
  const { id } = await make(ada, path, { name: 'Robot', role: 'EDITOR' })
  return (await makeToken(ada, { scopes: ['write'] }, `${path}/${id}/tokens`)).token
}

/*
 * Each section is a test. Ada owns its projects Engine, in which Bea is an EDITOR and Cay a VIEWER, and Boat. A list of
 * operations stands for an `apply` to Engine. A call without a key gets one. `bea$` is a call of Bea, `robot$` of a service
 * account, `read$` and `write$` of a token of Ada with this scope, and `bound$` of a token that is limited to Engine.
 */
test.each(sessionsIn('test/mcp/sessions'))('%s', async (_, steps) => {
  for (const { id } of (await ada.get('/projects')).body) await ada.delete(`/projects/${id}`)
  const { id } = await make(ada, '/projects', { name: 'Engine' })
  const boat = await make(ada, '/projects', { name: 'Boat' })
  await invite(ada, id, bea, 'EDITOR')
  await invite(ada, id, cay, 'VIEWER')
  const values: Record<string, string> = { boat: boat.id, beaId: bea.id, ...Object.fromEntries(emails) }
  const tools: Record<string, Awaited<ReturnType<typeof connect>>> = {}
  await expectSession(steps, async (command, by) => {
    const [, tool = '', text = ''] = /^(\w+) (.*)$/.exec(command)!
    const json = JSON.parse(text.replace(/@([a-z]+)\b/gi, (whole, name: string) => values[name] ?? whole))
    const needsKey = words('apply undo').includes(tool)
    const given = Array.isArray(json) ? { project: 'Engine', operations: json } : json
    const args = { ...(needsKey && { key: `key ${++keys}` }), ...given }
    tools[by] ??= await connect(service, await tokenOf(by, id))
    const answer = await tools[by].call(tool, args).catch((error: Error) => error)
    if (answer instanceof Error) return `rejected: ${answer.message}`
    expect([command, answer.isError]).toEqual([command, answer.text.startsWith('{"error"')])
    return answer.text
  })
})
