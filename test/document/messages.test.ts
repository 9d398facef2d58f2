import { expect, test } from 'bun:test'
import { make, type Person } from '../support/client.ts'
import { callsOf, type OpenApi } from '../support/schema-check.ts'
import { openScene } from '../support/scene.ts'

const mostCharacters = 110
/** Paths that end what the test needs. */
const ending = /logout/
const { client, ada } = await openScene(['Ada'])

test('an error message says what a field must be, and explains nothing', async () => {
  const { id } = await make(ada, '/projects', { name: 'P' })
  const api = (await client.get('/../docs/json')).body as unknown as OpenApi
  const messages = new Map<string, string>()
  const note = ({ status, body }: Awaited<ReturnType<Person['get']>>, of: string) => {
    if (status === 400) for (const part of body.message.split('; ')) messages.set(part, of)
  }
  for (const { name, operation, method, path, fields } of callsOf(api)) {
    if (method === 'DELETE' || ending.test(path)) continue
    const at = path.replace(/\{\w+\}/g, id)
    const body = method === 'GET' ? undefined : {}
    for (const one of operation.parameters.filter(({ in: place }) => place === 'query'))
      note(await ada.call(method, `${at}?${one.name}=%21`, body), name)
    for (const one of Object.keys(fields)) note(await ada.call(method, at, { [one]: { x: 1 } }), name)
  }
  expect(messages.size).toBeGreaterThan(40)
  expect([...messages].filter(([message]) => message.length > mostCharacters)).toEqual([])
  expect([...messages].filter(([message]) => /must be .*: /.test(message))).toEqual([])
  for (const said of ['asOf', 'types', 'type', 'operations', 'dryRun'])
    expect([...messages.keys()].filter((message) => message.startsWith(`${said} must be `))).toHaveLength(
      said === 'types' ? 2 : 1,
    )
})

test('an operation of a batch with an unknown name is told the nearest', async () => {
  const { id } = await make(ada, '/projects', { name: 'P' })
  const send = async (op: unknown) =>
    (await ada.post(`/projects/${id}/batch`, { operations: [{ op }] })).body.message
  expect(await send('task.creat')).toBe(
    'operations[0]: op must be the name of a command; did you mean task.create?',
  )
  expect(await send('sing')).toBe('operations[0]: op must be the name of a command')
})
