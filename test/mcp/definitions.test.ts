import { countTokens } from 'gpt-tokenizer/encoding/o200k_base'
import { blocksOf } from '../docs/page.ts'
import { make, openScene, sampleOf, withToken, words } from '../kit.ts'
import { connect, creates, expectError, modes } from './scene.ts'

const { service, ada } = await openScene(['Ada'])
const { client, call } = await connect(service, ada.token)
await make(ada, '/projects', { name: 'Engine' })
const all = await client.listTools()
const maxDefinitionTokens = 3_000
const names = (tools: { name: string }[]) => tools.map(({ name }) => name)
const reading = words('projects find get changes history')

test(`the tools are on one page, in a fixed order, with at most ${maxDefinitionTokens} tokens and no output schema`, () => {
  const expected = words('projects find get apply undo changes claim_next extend_or_release history')
  expect([names(all.tools), all.nextCursor]).toEqual([expected, undefined])
  expect(countTokens(JSON.stringify(all.tools))).toBeLessThanOrEqual(maxDefinitionTokens)
  for (const tool of all.tools) expect(Object.keys(tool)).not.toContain('outputSchema')
  expect(names(all.tools.filter(({ annotations }) => annotations?.readOnlyHint))).toEqual(reading)
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
  return [start, ...placesIn(start)].map((place) => ({ tool: name, ...place }))
})

/** Returns the keywords of a schema that not every client accepts. */
function faultsIn({ type, items, properties = {}, required, description, enum: values, ...others }: Schema) {
  const names = Object.keys(properties)
  const checks = {
    type: words('string integer boolean array object').includes(String(type)),
    items: (type === 'array') === (items !== undefined),
    properties: (type === 'object') === names.length > 0,
    required: !required || (required.length > 0 && required.every((name) => names.includes(name))),
    description: description === undefined || typeof description === 'string',
    enum: values?.every((value) => typeof value === 'string') ?? true,
  }
  return [...Object.keys(others), ...Object.entries(checks).flatMap(([name, fits]) => (fits ? [] : [name]))]
}

test('the schemas of arguments use only the keywords that every client accepts', () => {
  const faults = places.map(({ tool, path, schema }) => [tool, path, ...faultsIn(schema)])
  expect(faults.filter(([, , ...found]) => found.length > 0)).toEqual([])
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
function typeOf(value: unknown): string {
  if (Array.isArray(value)) return 'array'
  if (value === null) return 'null'
  return Number.isInteger(value) ? 'integer' : typeof value
}

test('an argument of another type gets an error with its name and what it must be', async () => {
  let checked = 0
  for (const [n, { tool, path, schema, argumentsWith }] of places.filter(({ path }) => path).entries())
    for (const value of sampleOf(values, n)) {
      if (typeOf(value) === schema.type) continue
      const answer = await call<{ error: string }>(tool, argumentsWith(value) as object)
      expectError(answer, { status: 400, error: `${path} must be ` })
      const messages = answer.body.error.split('; ').filter((one) => one.startsWith(`${path} must be `))
      const found = [tool, path, JSON.stringify(value)]
      expect([...found, messages.length]).toEqual([...found, 1])
      expect(messages[0]!.slice(`${path} must be `.length)).toMatch(expected[String(schema.type)]!)
      checked += 1
    }
  expect(checked).toBeGreaterThan(150)
})

test('a token with the scope read lists only tools that read', async () => {
  const { client } = await connect(service, (await withToken(ada, { scopes: ['read'] })).token)
  expect(names((await client.listTools()).tools)).toEqual(reading)
})

test.each(modes)('the official client lists and calls tools: %j', async (mode) => {
  const { client, call, close } = await connect(service, ada.token, mode)
  expect(names((await client.listTools()).tools)).toContain('projects')
  const args = { project: 'Engine', key: JSON.stringify(mode), operations: creates('Cast') }
  const [first, again] = [await call('apply', args), await call('apply', args)]
  expect(again.body).toEqual(first.body)
  await expect(connect(service, 'invalid', mode)).rejects.toThrow()
  await close()
})

interface Settings {
  url?: string
  httpUrl?: string
  headers: { Authorization: string }
}

test('the settings that the page shows for agents connect the official client', async () => {
  const blocks = blocksOf('docs/mcp.md')
  const textsOf = (...wanted: string[]) =>
    blocks.flatMap(({ language, text }) => (wanted.includes(language) ? text : []))
  const files = textsOf('json').map((text): Record<string, { docket: Settings }> => JSON.parse(text))
  expect(files).toHaveLength(3)
  for (const { mcpServers, servers } of files) {
    const { url, httpUrl, headers } = (mcpServers ?? servers)!.docket
    const fetch: typeof service.fetch = (_, init) => service.fetch(new URL((url ?? httpUrl)!).pathname, init)
    const { close } = await connect({ fetch }, headers.Authorization.replace(/^Bearer \$.*$/, ada.token!))
    await close()
  }
  const others = textsOf('console', 'toml').map((text) => /https:\S*?\/mcp\b/.exec(text)?.[0])
  expect(others).toEqual(Array(2).fill('https://docket.example.com/mcp'))
})
