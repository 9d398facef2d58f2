import { isDeepStrictEqual } from 'node:util'
import { readFileSync } from 'node:fs'
import { model, titleOf } from '../model/model.ts'
import type { HttpError } from '../responses/errors.ts'
import { nameOf } from '../schema/response.ts'
import packageJson from '../../package.json' with { type: 'json' }
import { commonResponses, headers, type Parameter, pathParameter } from './components.ts'

/** The server replaces {basePath} for each request. */
export const guidesUrl = '{basePath}/api/docs/guides'

export const fillTemplate = (text: string, values: Record<string, string>): string =>
  text.replace(/\{(\w+)\}/g, (placeholder, name: string) => values[name] ?? placeholder)

function tags(): { name: string; description: string }[] {
  const entities = model().all.map(({ name, about }) => ({ name: `${titleOf(name)}s`, description: about }))
  return [
    { name: 'Authentication', description: 'Register, sign in and out, and change your account.' },
    ...entities,
    { name: 'Search', description: 'Tasks, comments and projects by their words, ids and numbers.' },
    { name: 'Imports', description: 'Files of other systems that become tasks, subtasks and comments.' },
    { name: 'Exports', description: 'Projects as files.' },
    { name: 'Events', description: 'The feed: every change of a project, in order and without gaps.' },
    { name: 'History', description: 'Past changes, newest first, and undo.' },
    { name: 'Agents', description: 'The Model Context Protocol: the tools of an agent.' },
    { name: 'Health', description: 'Whether the process runs, and whether the service is ready.' },
  ]
}

const securitySchemes = {
  bearer: {
    type: 'http',
    scheme: 'bearer',
    description: 'The `access_token` from register or login, or an API token from `POST /tokens`',
  },
}

export function description() {
  const { description: summary, license, version } = packageJson
  return {
    // Version 3.1 contains JSON Schema: `null` is a type, and `examples` is a list.
    openapi: '3.1.0',
    info: {
      title: 'Docket',
      summary,
      description: readFileSync(new URL('./introduction.md', import.meta.url), 'utf8'),
      version,
      contact: { name: 'The operator of this service' },
      license: { name: license, identifier: license },
    },
    servers: [{ url: '{serverUrl}', description: 'This service' }],
    tags: tags(),
    components: { securitySchemes },
  }
}

export interface OpenApiDocument {
  components?: object
  paths: Record<string, Record<string, { parameters?: Parameter[] }>>
}

/** Completes the document of the plugin, which names only the parameters of a path and has no components. */
export function completeDocument(document: OpenApiDocument, commonErrors: HttpError[][]): object {
  const { paths } = document
  for (const [path, operations] of Object.entries(paths))
    for (const operation of Object.values(operations))
      operation.parameters = (operation.parameters ?? []).map((one) =>
        one.in === 'path' ? pathParameter(path, one.name) : one,
      )
  const components = { ...document.components, responses: commonResponses(commonErrors), headers }
  const { schemas, document: referring } = componentsOf({ ...document, components })
  return { ...referring, components: { ...referring.components, schemas } }
}

/** Replaces each named schema of a document with a reference. */
function componentsOf<T extends { components?: object }>(document: T) {
  const schemas = new Map<string, object>()

  function refer(value: unknown): unknown {
    if (Array.isArray(value)) return value.map(refer)
    if (typeof value !== 'object' || value === null) return value
    const part = shortened(Object.fromEntries(Object.entries(value).map(([key, one]) => [key, refer(one)])))
    const name = nameOf(value)
    if (name === undefined) return part
    const existing = schemas.get(name) ?? part
    if (!isDeepStrictEqual(existing, part)) throw new Error(`The document has two schemas called ${name}`)
    schemas.set(name, existing)
    return { $ref: `#/components/schemas/${name}` }
  }

  const referring = refer(document) as T
  const sorted = [...schemas].sort(([a], [b]) => (a < b ? -1 : 1))
  return { document: referring, schemas: Object.fromEntries(sorted) }
}

interface Schema {
  type?: unknown
  anyOf?: Schema[]
}

/** Writes `string | null` as one schema with two types, because generators handle that better than `anyOf`. */
function shortened<T extends object>(schema: T): T {
  const { anyOf, ...rest } = schema as Schema
  const [first, second, ...others] = anyOf ?? []
  if (typeof first?.type !== 'string' || second?.type !== 'null' || others.length > 0) return schema
  return { ...first, ...rest, type: [first.type, 'null'] } as object as T
}
