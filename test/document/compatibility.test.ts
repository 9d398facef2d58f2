import { declarationsOf, typesOf } from '../../clients/typescript/scripts/types-of.ts'
import { type OpenApi, openScene, operationsOf, read, resolveSchema, type Schema } from '../kit.ts'
import release from './release.json' with { type: 'json' }

const { text } = await (await openScene()).client.get('/../docs/json')

test('the types of the client match the OpenAPI document; `npm run types --prefix clients/typescript` generates them', async () => {
  expect(await typesOf(text)).toBe(read('clients/typescript/src/api.ts').text)
  expect(declarationsOf(text)).toBe(read('clients/typescript/src/declarations.ts').text)
})

/** The types of a field by its path. `?` follows the path of an optional field; `=` precedes the values of an enum. */
type Fields = Record<string, string>

/** The part of an operation that clients depend on. */
interface Contract {
  request: Fields
  /** By status and media type, such as `200 application/json`. */
  responses: Record<string, Fields>
}

const maxDepth = 4

/** Returns the contract of each operation of the API, by method and path. */
function contractsOf(api: OpenApi): Record<string, Contract> {
  const variantsOf = (schema: Schema): Schema[] =>
    schema.$ref
      ? variantsOf(resolveSchema(api, schema.$ref))
      : ((schema.anyOf ?? schema.oneOf)?.flatMap(variantsOf) ?? [schema])
  const typesOf = ({ type = 'any', enum: values }: Schema) =>
    [type].flat().map((one) => `${one}${values ? `=${values.join('|')}` : ''}`)

  function add(to: Fields, schema: Schema, path: string, isRequired: boolean, depth: number): void {
    const variants = variantsOf(schema)
    const key = path + (isRequired ? '' : '?')
    to[key] = [...new Set([...(to[key]?.split(' ') ?? []), ...variants.flatMap(typesOf)])].sort().join(' ')
    if (depth + 1 >= maxDepth) return
    for (const { properties = {}, required = [], items } of variants) {
      if (items) add(to, items, `${path}[]`, true, depth + 1)
      for (const [name, one] of Object.entries(properties)) {
        const isNeeded = variants.length === 1 && required.includes(name)
        add(to, one, path ? `${path}.${name}` : name, isNeeded, depth + 1)
      }
    }
  }
  const contracts = Array.from(operationsOf(api), ([name, { parameters, requestBody, responses }]) => {
    const contract: Contract = { request: {}, responses: {} }
    for (const { name, in: place, required = false, schema } of parameters)
      add(contract.request, schema, `${place} ${name}`, required, 0)
    for (const [type, { schema }] of Object.entries(requestBody?.content ?? {}))
      add(contract.request, schema, type, true, -1)
    for (const [status, { content = {} }] of Object.entries(responses))
      for (const [type, { schema }] of Object.entries(content))
        if (status < '300') add((contract.responses[`${status} ${type}`] = {}), schema, '', true, -1)
    return [name.replace(/^\w+/, (method) => method.toUpperCase()), contract] as const
  })
  return Object.fromEntries(contracts)
}

const bare = (key: string) => key.replace(/\?$/, '')
const valuesOf = (type: string) => {
  const [name, values] = type.split('=')
  return values?.split('|').map((value) => `${name}=${value}`) ?? [name]
}

/** Describes what an operation offers: each accepted type or value, and each field of a response. */
function* offersOf({ request, responses }: Contract) {
  for (const [key, types] of Object.entries(request))
    for (const one of types.split(' ').flatMap(valuesOf)) yield `accepts ${one} as ${bare(key)}`
  for (const [status, fields] of Object.entries(responses))
    for (const key of Object.keys(fields))
      for (const one of new Set([key, `${bare(key)}?`])) yield `returns ${one} with ${status}`
}

/** Describes what an operation demands of clients that know `known`: required fields, and types of fields in responses. */
function* demandsOf({ request, responses }: Contract, known: Contract) {
  // A required part of a new part demands nothing.
  const isPart = (key: string) => key.includes('[]') || /\.|^\w+\/[\w.+-]+$/.test(key)
  for (const key of Object.keys(request))
    if (key === bare(key) && (!isPart(key) || key in known.request || `${key}?` in known.request))
      yield `requires ${key}`
  for (const [status, fields] of Object.entries(responses))
    for (const [key, types] of Object.entries(fields)) {
      const old = known.responses[status] ?? {}
      if (!(bare(key) in old) && !(`${bare(key)}?` in old)) continue
      for (const type of types.split(' '))
        yield `may return ${type.split('=')[0]} as ${bare(key)} with ${status}`
    }
}

/** Describes what clients of the contracts `before` cannot rely on any more. */
function breaksBetween(before: Record<string, Contract>, after: Record<string, Contract>): string[] {
  return Object.entries(before).flatMap(([operation, old]) => {
    const now = after[operation]
    if (!now) return [`${operation} is missing`]
    const [offers, demands] = [new Set(offersOf(now)), new Set(demandsOf(old, old))]
    // An operation that accepts every text accepts each value.
    const lost = [...offersOf(old)].filter((one) => !offers.has(one) && !offers.has(one.replace(/=\S+/, '')))
    const added = [...demandsOf(now, old)].filter((one) => !demands.has(one))
    return [...lost.map((one) => `no longer ${one}`), ...added].map((one) => `${operation}: ${one}`)
  })
}

const current = contractsOf(JSON.parse(text))
const before = Object.fromEntries(
  Object.entries(release as unknown as Record<string, Contract>).filter(([name]) => name.includes('/api/v1')),
)

/** The stream repeated the answer of `GET /imports/{id}`, and was removed before version 0.1.0. */
const removed = ['GET /api/v1/imports/{id}/events is missing']

test('clients of the last release can use this release: no operation, field or value is missing', () => {
  expect(Object.keys(before).length).toBeGreaterThan(60)
  expect(breaksBetween(before, current)).toEqual(removed)
})

const created = '201 application/json'
test.each<[expected: string, change: (task: Contract) => unknown]>([
  [`no longer returns title with ${created}`, ({ responses }) => delete responses[created]!.title],
  [
    `may return null as title with ${created}`,
    ({ responses }) => (responses[created]!.title = 'null string'),
  ],
  [
    'no longer accepts string=MEDIUM as application/json.priority',
    ({ request }) => (request['application/json.priority?'] = 'string=LOW|HIGH'),
  ],
  ['requires header x', ({ request }) => (request['header x'] = 'string')],
])('finds that an operation %s', (expected, change) => {
  const changed = structuredClone(current)
  change(changed['POST /api/v1/tasks']!)
  expect(breaksBetween(current, changed)).toContain(`POST /api/v1/tasks: ${expected}`)
})
