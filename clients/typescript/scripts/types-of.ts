import { spawnSync } from 'node:child_process'
import openapiTypescript, { astToString } from 'openapi-typescript'

interface Parameter {
  in: string
}

interface Operation {
  description?: string
  parameters: Parameter[]
  responses: Record<string, object>
}

interface OpenApi {
  paths: Record<string, Record<string, Operation>>
  components: { schemas: object }
}

const note = '// Generated from the OpenAPI document by `npm run types`. Do not edit.\n'

/**
 * Returns TypeScript source with the types `components` and `operations` of an OpenAPI document, formatted.
 * The types describe path and query parameters, bodies and successful responses; examples and headers are omitted.
 */
export async function typesOf(document: string): Promise<string> {
  const nodes = await openapiTypescript(JSON.stringify(reduced(JSON.parse(document))))
  const text = astToString(nodes.filter((node) => 'name' in node && isNeeded(node.name as { text: string })))
  // The document names the filters by custom fields as `field.{key}`, for any key.
  const named = text.replaceAll('"field.{key}"?:', '[key: `field.${string}`]: undefined |')
  // Otherwise any name would be a filter of a view.
  const closed = named.replaceAll(
    /(\[key: `field\.[^}]*\}`\][^}]*\}) & \{\s*\[key: string\]: string;\s*\}/g,
    '$1',
  )
  return formatted(note + withoutEmptyParts(closed))
}

interface Property {
  $ref?: string
  description?: string
  enum?: string[]
  items?: Property
  /** A value, or null. */
  anyOf?: Property[]
}

/**
 * Returns TypeScript source with the fields of tasks, the lists of their children, the orders of lists and the values of `by`. `about` is
 * the description of a field, and `values` are the values of a choice.
 */
export function declarationsOf(document: string): string {
  const { schemas } = JSON.parse(document).components
  const nameIn = ($ref = '') => $ref.slice($ref.lastIndexOf('/') + 1)
  const { Task, TaskCountedBy, TaskFields, TaskSort } = schemas
  const taskFields = Task['x-fields'].map((field: { name: string }) => {
    const own: Property = Task.properties[field.name]
    const [one, ...orNull] = own.anyOf ?? [own]
    const { description, enum: values }: Property = one!.$ref ? schemas[nameIn(one!.$ref)] : one
    const about = (orNull.length > 0 ? own.description : description) ?? ''
    return { ...field, about: about.replace(/, or null$/, '').replaceAll('`', ''), values }
  })
  const children = Object.entries<Property>(TaskFields.properties).flatMap(([name, { items }]) =>
    name in Task.properties ? [] : [[name, nameIn(items!.$ref)]],
  )
  const choices = { sorts: TaskSort.enum, countedBy: TaskCountedBy.enum }
  const constants = { taskFields, ...choices, children: Object.fromEntries(children) }
  const lines = Object.entries(constants).map(
    ([name, value]) => `export const ${name} = ${JSON.stringify(value)} as const\n`,
  )
  return formatted(note + lines.join(''))
}

const isNeeded = ({ text }: { text: string }) => text === 'components' || text === 'operations'

function reduced({ paths, components: { schemas } }: OpenApi) {
  for (const operation of Object.values(paths).flatMap(Object.values<Operation>)) {
    delete operation.description
    operation.parameters = operation.parameters.filter((one) => one.in !== 'header')
    const successes = Object.entries(operation.responses).filter(([status]) => Number(status) < 300)
    operation.responses = Object.fromEntries(successes)
  }
  const document = { openapi: '3.1.0', info: { title: '', version: '' }, paths, components: { schemas } }
  return withoutKeys(document, ['example', 'examples', 'headers', 'format'])
}

/** Removes the keys from schemas, but not properties of the same name: the value of a property is an object. */
function withoutKeys(value: unknown, keys: string[], areNames = false): unknown {
  if (Array.isArray(value)) return value.map((one) => withoutKeys(one, keys))
  if (typeof value !== 'object' || value === null) return value
  const kept = Object.entries(value).filter(([key]) => areNames || !keys.includes(key))
  return Object.fromEntries(kept.map(([key, one]) => [key, withoutKeys(one, keys, key === 'properties')]))
}

const withoutEmptyParts = (text: string): string =>
  text
    .replace(
      /^ +(header|path|cookie|query|requestBody|headers|responses|parameters|pathItems)\??: never;\n/gm,
      '',
    )
    .replace(/^ +headers: \{\n +\[name: string\]: unknown;\n +\};\n/gm, '')

function formatted(text: string): string {
  const { stdout, stderr, status } = spawnSync(
    process.execPath,
    ['fmt', '--no-script', '--stdin-filepath=api.ts'],
    {
      input: text,
      encoding: 'utf8',
      maxBuffer: 16 * 1024 * 1024,
    },
  )
  if (status !== 0) throw new Error(`bun fmt failed: ${stderr}`)
  return stdout
}
