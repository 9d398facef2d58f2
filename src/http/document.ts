import type { TSchema } from '@sinclair/typebox'
import { exampleOf } from '../schema/operation.ts'

interface Parameter {
  name: string
  in: string
  required?: boolean
  description?: string
  schema: object
}

interface Operation {
  parameters?: Parameter[]
  requestBody?: { required: boolean; content: Record<string, { schema: TSchema }> }
  responses: Record<string, object>
}

export interface OpenApiDocument {
  paths: Record<string, Record<string, Operation>>
}

/** Headers that an operation understands, told by the statuses it answers. */
const headers: Record<string, Parameter> = {
  304: header('If-None-Match', 'The ETag of an earlier answer: 304 when it still holds'),
  412: header('If-Match', 'The ETag that the resource must still have, whatever people are called by now'),
  422: header(
    'Idempotency-Key',
    'Up to 255 characters: a repeat with the same key is answered, not done again. Refusals are not kept: after one, the same key begins anew',
  ),
}

/** The plugin's document with what it cannot know: bodies are JSON and have examples, path parameters mean something. */
export function finished(document: OpenApiDocument): OpenApiDocument {
  const paths = Object.entries(document.paths).map(([path, operations]) => {
    const done = Object.entries(operations).map(([method, one]) => [method, operationOf(path, one)])
    return [path, Object.fromEntries(done)]
  })
  return { ...document, paths: Object.fromEntries(paths) }
}

function operationOf(path: string, { parameters = [], requestBody, ...operation }: Operation): Operation {
  const known = parameters.map((parameter) => parameterOf(path, parameter))
  const understood = Object.entries(headers).flatMap(([status, one]) =>
    status in operation.responses ? [one] : [],
  )
  const schema = requestBody?.content['application/json']?.schema
  return {
    ...operation,
    parameters: [...known, ...understood],
    ...(schema && { requestBody: bodyOf(schema) }),
  }
}

/** Without example values: the UI would fill them in and send them. */
function parameterOf(path: string, { name, in: place, required, description, schema }: Parameter): Parameter {
  const what = new RegExp(`(\\w+)s/\\{${name}\\}`).exec(path)?.[1]
  return { name, in: place, required, description: description ?? `The id of a ${what}`, schema }
}

const bodyOf = ({ description, ...schema }: TSchema) => ({
  required: true,
  ...(description && { description }),
  content: { 'application/json': { schema, example: exampleOf(schema as TSchema) } },
})

function header(name: string, description: string): Parameter {
  return { name, in: 'header', required: false, description, schema: { type: 'string' } }
}
