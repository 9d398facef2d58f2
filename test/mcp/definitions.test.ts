import { countTokens } from 'gpt-tokenizer/encoding/o200k_base'
import { openScene, withToken, words } from '../kit.ts'
import { connect } from './mcp-client.ts'

const { service, ada } = await openScene(['Ada'])
const { client } = await connect(service, ada.token)
const all = await client.listTools()
const maxDefinitionTokens = 3_000
const names = (tools: { name: string }[]) => tools.map(({ name }) => name)

test('the tools are on one page, in a fixed order', () => {
  expect(names(all.tools)).toEqual(
    words('projects find get apply undo changes claim_next extend_or_release history'),
  )
  expect(all.nextCursor).toBeUndefined()
})

test(`the definitions have at most ${maxDefinitionTokens} tokens and no output schema`, () => {
  expect(countTokens(JSON.stringify(all.tools))).toBeLessThanOrEqual(maxDefinitionTokens)
  for (const tool of all.tools) expect(Object.keys(tool)).not.toContain('outputSchema')
})

interface Schema {
  type?: unknown
  enum?: unknown[]
  items?: Schema
  properties?: Record<string, Schema>
  required?: string[]
  description?: unknown
}

/** A place in the arguments of a tool: its path, its schema, and the arguments with a value only in this place. */
interface Place {
  path: string
  schema: Schema
  argumentsWith(value: unknown): unknown
}

function placesIn({ path, schema, argumentsWith }: Place): Place[] {
  const { properties = {}, items } = schema
  const inside = Object.entries(properties).map(([name, one]) => ({
    ...{ path: path ? `${path}.${name}` : name, schema: one },
    argumentsWith: (value: unknown) => argumentsWith({ [name]: value }),
  }))
  if (items)
    inside.push({ path: `${path}.0`, schema: items, argumentsWith: (value) => argumentsWith([value]) })
  return inside.flatMap((place) => [place, ...placesIn(place)])
}

const places = all.tools.flatMap(({ name, inputSchema }) => {
  const start = { path: '', schema: inputSchema as Schema, argumentsWith: (value: unknown) => value }
  return placesIn(start).map((place) => ({ tool: name, ...place }))
})

/** Returns the keywords of a schema that not every client accepts. */
function faultsIn({ type, items, properties = {}, required, description, enum: values, ...others }: Schema) {
  const types = words('string integer boolean array object')
  const names = Object.keys(properties)
  const checks = {
    type: typeof type === 'string' && types.includes(type),
    items: (type === 'array') === (items !== undefined),
    properties: (type === 'object') === names.length > 0,
    required: !required || (required.length > 0 && required.every((name) => names.includes(name))),
    description: description === undefined || typeof description === 'string',
    enum: values?.every((value) => typeof value === 'string') ?? true,
  }
  return [...Object.keys(others), ...Object.entries(checks).flatMap(([name, fits]) => (fits ? [] : [name]))]
}

test('the schemas of arguments use only the keywords that every client accepts', () => {
  const own = all.tools.map(({ name, inputSchema }) => ({
    tool: name,
    path: '',
    schema: inputSchema as Schema,
  }))
  const faults = [...own, ...places].map(({ tool, path, schema }) => [tool, path, faultsIn(schema)])
  expect(faults.filter(([, , found]) => found!.length > 0)).toEqual([])
})

const expected: Record<string, RegExp> = {
  string: /^(a text|the id|a name|event types|an ISO 8601 date-time|one of [A-Za-z-]+, )/,
  integer: /^a (whole )?number/,
  boolean: /^true or false$/,
  array: /^a list of /,
  object: /^an object/,
}
const values = [5, 1.5, 'x\0', '', 'e\ud800', null, true, [], ['x'], [null], [['x']], [{}], { x: {} }]
/** The JSON type of a value, as schemas name it. */
const typeOf = (value: unknown) =>
  Array.isArray(value)
    ? 'array'
    : value === null
      ? 'null'
      : Number.isInteger(value)
        ? 'integer'
        : typeof value

test('an argument of another type gets an error with its name and what it must be', async () => {
  const { call } = await connect(service, ada.token)
  let checked = 0
  for (const { tool, path, schema, argumentsWith } of places)
    for (const value of values) {
      // `where` may also be an object, as in earlier releases. One error describes the whole list.
      const isAllowed = path === 'where' && typeOf(value) === 'object'
      if (typeOf(value) === schema.type || isAllowed) continue
      const field = path === 'where.0' ? 'where' : path
      const type = path === 'where.0' ? 'array' : String(schema.type)
      const { isError, body } = await call<{ error: string; status: number }>(
        tool,
        argumentsWith(value) as object,
      )
      const found = [tool, path, JSON.stringify(value)]
      expect([...found, isError, body.status]).toEqual([...found, true, 400])
      const messages = body.error.split('; ').filter((one) => one.startsWith(`${field} must be `))
      expect([...found, body.error, messages.length]).toEqual([...found, body.error, 1])
      expect(messages[0]!.slice(`${field} must be `.length)).toMatch(expected[type]!)
      checked += 1
    }
  expect(checked).toBeGreaterThan(500)
})

test('readOnlyHint is set for the tools that write nothing, and only for these tools', () => {
  const reads = all.tools.filter(({ annotations }) => annotations?.readOnlyHint)
  expect(names(reads)).toEqual(words('projects find get changes history'))
})

test('a token with the scope read lists only tools that read, and cannot call other tools', async () => {
  const reader = await withToken(ada, { scopes: ['read'] })
  const { client, call } = await connect(service, reader.token)
  const { tools } = await client.listTools()
  expect(names(tools)).toEqual(words('projects find get changes history'))
  expect(call('apply', { key: 'k' })).rejects.toThrow(
    'The tool apply needs an API token with the scope write',
  )
  expect((await call('projects')).isError).toBe(false)
})

test('an unknown tool gets the names of the tools', async () => {
  const { call } = await connect(service, ada.token)
  expect(call('search')).rejects.toThrow('search is not known here; the tools are projects, find')
})

test('an unknown argument gets the nearest name, and the names of all arguments', async () => {
  const { call } = await connect(service, ada.token)
  const { isError, body } = await call('find', { projct: 'Engine', limit: 0 })
  expect(isError).toBe(true)
  expect(body).toMatchObject({
    error: 'projct is not known here; did you mean project?; limit must be a whole number from 1 to 100',
    status: 400,
    do: expect.stringContaining('its arguments are project, text, status'),
  })
})
