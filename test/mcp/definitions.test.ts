import { expect, test } from 'bun:test'
import { withToken } from '../support/client.ts'
import { openScene } from '../support/scene.ts'
import { words } from '../support/words.ts'
import { connect } from './mcp-client.ts'
import { maxDefinitionTokens, tokensIn } from './token-count.ts'

const { service, ada } = await openScene(['Ada'])
const { client } = await connect(service, ada.token)
const all = await client.listTools()
const names = (tools: { name: string }[]) => tools.map(({ name }) => name)

test('the tools are on one page, in a fixed order', () => {
  expect(names(all.tools)).toEqual(
    words('projects find get apply undo changes claim_next extend_or_release history'),
  )
  expect(all.nextCursor).toBeUndefined()
})

test(`the definitions have at most ${maxDefinitionTokens} tokens and no output schema`, () => {
  expect(tokensIn(JSON.stringify(all.tools))).toBeLessThanOrEqual(maxDefinitionTokens)
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

/** Returns the places where a schema is not in the part of JSON Schema that every client accepts. */
function faultsIn(schema: Schema, at: string): string[] {
  const { type, items, properties, required, description, enum: values, ...others } = schema
  const faults = Object.keys(others)
  const types = words('string integer boolean array object')
  if (typeof type !== 'string' || !types.includes(type)) faults.push('type')
  if ((type === 'array') !== (items !== undefined)) faults.push('items')
  const names = Object.keys(properties ?? {})
  if ((type === 'object') !== names.length > 0) faults.push('properties')
  if (required && (required.length === 0 || !required.every((name) => names.includes(name))))
    faults.push('required')
  if (description !== undefined && typeof description !== 'string') faults.push('description')
  if (values?.some((value) => typeof value !== 'string')) faults.push('enum')
  const inner = Object.entries({ ...properties, ...(items && { items }) })
  return [
    ...faults.map((fault) => `${at}: ${fault}`),
    ...inner.flatMap(([name, one]) => faultsIn(one, `${at}.${name}`)),
  ]
}

test('the schemas of arguments use only the keywords that every client accepts', () => {
  const faults = all.tools.flatMap(({ name, inputSchema }) => faultsIn(inputSchema as Schema, name))
  expect(faults).toEqual([])
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
  const check = async (tool: string, given: object, field: string, { type }: Schema, value: unknown) => {
    const { isError, body } = await call<{ error: string; status: number; do: string }>(tool, given)
    const found = [tool, field, JSON.stringify(value), isError, body.status]
    expect(found).toEqual([tool, field, JSON.stringify(value), true, 400])
    const messages = body.error.split('; ').filter((one) => one.startsWith(`${field} must be `))
    expect([tool, field, value, body.error, messages.length]).toEqual([tool, field, value, body.error, 1])
    expect(messages[0]!.slice(`${field} must be `.length)).toMatch(expected[String(type)]!)
    checked += 1
  }
  for (const { name, inputSchema } of all.tools)
    for (const [field, schema] of Object.entries((inputSchema as Schema).properties!))
      for (const value of values) {
        // `where` may also be an object, as in earlier releases.
        const isOther = typeOf(value) !== schema.type && !(field === 'where' && typeOf(value) === 'object')
        if (isOther) await check(name, { [field]: value }, field, schema, value)
        const { items } = schema
        if (items && typeOf(value) !== items.type)
          await check(
            name,
            { [field]: [value] },
            field === 'where' ? field : `${field}.0`,
            field === 'where' ? schema : items,
            value,
          )
        for (const [inner, one] of Object.entries(schema.properties ?? {}))
          if (typeOf(value) !== one.type)
            await check(name, { [field]: { [inner]: value } }, `${field}.${inner}`, one, value)
        for (const [inner, one] of Object.entries(items?.properties ?? {}))
          if (typeOf(value) !== one.type)
            await check(name, { [field]: [{ [inner]: value }] }, `${field}.0.${inner}`, one, value)
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
