import { type OpenApi, openTestService, type Schema } from '../kit.ts'

export async function openDocument(): Promise<string> {
  await using service = await openTestService()
  const { status, text } = await service.client.get('/../docs/json')
  if (status !== 200) throw new Error(`GET /api/docs/json returned ${status}`)
  return text
}

/** The types of a field by its path. `?` follows the path of an optional field; `=` precedes the values of an enum. */
type Fields = Record<string, string>

/** The part of an operation that clients depend on. */
export interface Contract {
  request: Fields
  /** By status and media type, such as `200 application/json`. */
  responses: Record<string, Fields>
}

const maxDepth = 4

/** Returns the contract of each operation, by method and path. */
export function contractsOf({ paths, components }: OpenApi): Record<string, Contract> {
  const resolve = (schema: Schema): Schema =>
    schema.$ref ? resolve(components.schemas[schema.$ref.split('/').at(-1)!]!) : schema
  const variantsOf = (given: Schema): Schema[] => {
    const schema = resolve(given)
    const all = schema.anyOf ?? schema.oneOf
    return all ? all.flatMap(variantsOf) : [schema]
  }
  const typesOf = ({ type = 'any', enum: values }: Schema) =>
    [type].flat().map((one) => `${one}${values ? `=${values.join('|')}` : ''}`)

  function addFields(to: Fields, schema: Schema, path: string, depth = 0): void {
    const variants = variantsOf(schema)
    for (const { properties = {}, required = [], items } of depth < maxDepth ? variants : []) {
      if (items) add(to, items, `${path}[]`, true, depth)
      for (const [name, one] of Object.entries(properties))
        add(to, one, path ? `${path}.${name}` : name, variants.length === 1 && required.includes(name), depth)
    }
  }
  function add(to: Fields, schema: Schema, path: string, isRequired: boolean, depth: number): void {
    const types = variantsOf(schema).flatMap(typesOf)
    const key = path + (isRequired ? '' : '?')
    to[key] = [...new Set([...(to[key]?.split(' ') ?? []), ...types])].sort().join(' ')
    addFields(to, schema, path, depth + 1)
  }
  const referenced = <T extends object>(one: T, part: 'parameters' | 'responses'): T =>
    '$ref' in one ? (components[part][String(one.$ref).split('/').at(-1)!] as T) : one

  const contracts: Record<string, Contract> = {}
  for (const [path, methods] of Object.entries(paths))
    for (const [method, { parameters = [], requestBody, responses }] of Object.entries(methods)) {
      const contract: Contract = { request: {}, responses: {} }
      for (const { name, in: place, required = false, schema } of parameters.map((one) =>
        referenced(one, 'parameters'),
      ))
        add(contract.request, schema, `${place} ${name}`, required, 0)
      for (const [type, { schema }] of Object.entries(requestBody?.content ?? {}))
        add(contract.request, schema, type, true, -1)
      for (const [status, response] of Object.entries(responses))
        for (const [type, { schema }] of Object.entries(referenced(response, 'responses').content ?? {}))
          if (status < '300') add((contract.responses[`${status} ${type}`] = {}), schema, '', true, -1)
      contracts[`${method.toUpperCase()} ${path}`] = contract
    }
  return contracts
}

/** Describes what clients of the contracts `before` cannot rely on any more. */
export function breaksBetween(before: Record<string, Contract>, after: Record<string, Contract>): string[] {
  return Object.entries(before).flatMap(([operation, { request, responses }]) => {
    const now = after[operation]
    if (!now) return [`${operation} is missing`]
    return [
      ...requestBreaks(request, now.request),
      ...Object.entries(responses).flatMap(([status, fields]) =>
        now.responses[status] ? responseBreaks(fields, now.responses[status]) : [`${status} is missing`],
      ),
    ].map((one) => `${operation}: ${one}`)
  })
}

const optional = /\?$/
const typesAt = (fields: Fields, key: string) => fields[key] ?? fields[`${key}?`]
const isMissing = (types: string, type: string) => {
  const [name, values] = type.split('=')
  const same = types.split(' ').map((one) => one.split('='))
  return !same.some(([one, accepted]) => one === name && isWithin(values, accepted))
}
const isWithin = (values?: string, accepted?: string) =>
  accepted === undefined || values?.split('|').every((value) => accepted.split('|').includes(value)) === true

/** A request of an earlier client must still be accepted. */
function requestBreaks(before: Fields, after: Fields): string[] {
  const added = Object.keys(after).filter((key) => !optional.test(key) && !(key in before))
  const isPart = (key: string) => key.includes('[]') || /\.|^\w+\/[\w.+-]+$/.test(key)
  return [
    ...added.filter((key) => !isPart(key) || typesAt(before, key)).map((key) => `requires ${key}`),
    ...Object.entries(before).flatMap(([key, types]) => {
      const now = typesAt(after, key.replace(optional, ''))
      if (now === undefined) return [`no longer accepts ${key}`]
      return types
        .split(' ')
        .flatMap((type) => (isMissing(now, type) ? `no longer accepts ${type} as ${key}` : []))
    }),
  ]
}

/** A response may have more fields, and more values of an enum. */
function responseBreaks(before: Fields, after: Fields): string[] {
  return Object.entries(before).flatMap(([key, types]) => {
    const now = after[key] ?? after[key.replace(optional, '')]
    if (now === undefined) return [`${key} is missing in the response, or optional`]
    const names = types.split(' ').map((type) => type.split('=')[0])
    const added = now.split(' ').filter((type) => !names.includes(type.split('=')[0]))
    return added.map((type) => `${key} of the response may be ${type}`)
  })
}
