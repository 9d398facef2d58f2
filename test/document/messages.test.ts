import { expect, test } from 'bun:test'
import { make, type Person, register } from '../support/client.ts'
import { forFile, openTestService } from '../support/service.ts'

const mostCharacters = 110
/** Paths that end what the test needs. */
const ending = /logout/

interface Parameter {
  in: string
  name: string
}
interface Operation {
  parameters?: (Parameter & { $ref?: string })[]
  requestBody?: { content: Record<string, { schema: { $ref?: string; properties?: object } }> }
}
interface Document {
  paths: Record<string, Record<string, Operation>>
  components: { parameters: Record<string, Parameter>; schemas: Record<string, { properties?: object }> }
}
const service = await forFile(openTestService())
const ada = await register(service.client)

const lastOf = (ref: string) => ref.slice(ref.lastIndexOf('/') + 1)

/** What each operation takes: its parameters in the URL, and the fields of its body. */
function* taken({ paths, components }: Document) {
  for (const [path, operations] of Object.entries(paths))
    for (const [method, { parameters = [], requestBody }] of Object.entries(operations)) {
      const all = parameters.map((one) => (one.$ref ? components.parameters[lastOf(one.$ref)]! : one))
      const schema = requestBody?.content['application/json']?.schema
      const { properties = {} } = (schema?.$ref ? components.schemas[lastOf(schema.$ref)] : schema) ?? {}
      const inQuery = all.flatMap((one) => (one.in === 'query' ? one.name : []))
      yield { method: method.toUpperCase(), path, inQuery, fields: Object.keys(properties) }
    }
}

test('an error message says what a field must be, and explains nothing', async () => {
  const { id } = await make(ada, '/projects', { name: 'P' })
  const document = JSON.parse((await service.client.get('/../docs/json')).text) as Document
  const messages = new Map<string, string>()
  const note = ({ status, body }: Awaited<ReturnType<Person['get']>>, of: string) => {
    if (status === 400) for (const part of body.message.split('; ')) messages.set(part, of)
  }
  for (const { method, path, inQuery, fields } of taken(document)) {
    if (method === 'DELETE' || ending.test(path)) continue
    const name = `${method} ${path}`
    const at = path.replace('/api/v1', '').replace(/\{\w+\}/g, id)
    const body = method === 'GET' ? undefined : {}
    for (const one of inQuery) note(await ada.call(method, `${at}?${one}=%21`, body), name)
    for (const one of fields) note(await ada.call(method, at, { [one]: { x: 1 } }), name)
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
