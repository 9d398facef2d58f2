import type { TSchema } from '@sinclair/typebox'
import type { HttpError } from '../responses/errors.ts'
import { componentsOf } from './components.ts'
import { requestExample } from './example.ts'
import { headers } from './headers.ts'
import {
  type Parameter,
  parametersOf,
  requestHeadersKey,
  type Responses,
  sharedParameters,
} from './parameters.ts'
import { commonResponses } from './error-responses.ts'

interface Operation {
  parameters?: Parameter[]
  requestBody?: { content: Record<string, { schema: TSchema }> }
  responses: Responses
  [requestHeadersKey]?: string[]
}

export interface OpenApiDocument {
  components?: object
  paths: Record<string, Record<string, Operation>>
}

export function completeDocument(document: OpenApiDocument, commonErrors: HttpError[][]): object {
  const operations = Object.entries(document.paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, one]) => ({ path, method, ...operationOf(path, one) })),
  )
  const parameters = sharedParameters(operations.flatMap((one) => one.parameters))
  const paths: Record<string, Record<string, object>> = {}
  for (const { path, method, ...one } of operations) {
    const references = one.parameters.map(parameters.refer)
    paths[path] = { ...paths[path], [method]: { ...one, parameters: references } }
  }
  const responses = commonResponses(commonErrors)
  const components = { ...document.components, responses, headers, parameters: parameters.named }
  const { schemas, document: referring } = componentsOf({ ...document, paths, components })
  return { ...referring, components: { ...referring.components, schemas } }
}

function operationOf(
  path: string,
  { parameters = [], requestBody, [requestHeadersKey]: names, ...operation }: Operation,
) {
  const schema = requestBody?.content['application/json']?.schema
  return {
    ...operation,
    parameters: parametersOf(path, parameters, operation.responses, names),
    ...(requestBody && { requestBody: schema ? bodyOf(schema) : requestBody }),
  }
}

const bodyOf = (schema: TSchema) => ({
  required: schema.default === undefined,
  ...(schema.description && { description: schema.description }),
  content: { 'application/json': { schema, example: requestExample(schema) } },
})
