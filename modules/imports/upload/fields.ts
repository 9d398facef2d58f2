import { Type } from '@sinclair/typebox'
import { TypeCompiler } from '@sinclair/typebox/compiler'
import { badRequest, duplicateParameter } from '../../../src/responses/errors.ts'
import { unknownField, validationError } from '../../../src/schema/validation.ts'
import type { Mapping } from '../mapping.ts'
import { parseObject } from '../parse-object.ts'
import { columnsError } from '../readers/csv/columns.ts'
import { ImportMapping, ImportParameters } from '../schema.ts'
import type { Source } from '../sources.ts'

/** The parameters of an import as texts, from the query or from a form. */
export type Fields = Record<string, string | undefined>

export interface ImportOptions {
  source: Source
  dryRun: boolean
  mapping: Mapping
}

const parameters = TypeCompiler.Compile(ImportParameters)
const names = Object.keys(ImportParameters.properties)
const given = TypeCompiler.Compile(Type.Object({ mapping: ImportMapping }))

export const sourceMissing = () =>
  badRequest('source is required: the system that wrote the file, such as csv')
export const mappingNotJson = () => badRequest('mapping must be a JSON object')

/** @throws HttpError 400 */
export function readOptions({ mapping = '{}', ...fields }: Fields): ImportOptions {
  if (fields.source === undefined) throw sourceMissing()
  if (!parameters.Check(fields)) throw validationError(parameters.Errors(fields))
  return { source: fields.source!, dryRun: fields.dryRun === 'true', mapping: readMapping(mapping) }
}

/** Adds a field of a form. @throws HttpError 400 if the name is unknown or missing, or the query has the field too */
export function addField(fields: Fields, name = '', value = ''): void {
  if (!names.includes(name)) throw unknownField(name, [...names, 'file'])
  if (fields[name] !== undefined) throw duplicateParameter(name)
  fields[name] = value
}

function readMapping(text: string): Mapping {
  const mapping: Mapping | undefined = parseObject(text)
  if (!mapping) throw mappingNotJson()
  if (!given.Check({ mapping })) throw validationError(given.Errors({ mapping }))
  if (!textsIn(mapping).every((one) => one.isWellFormed() && !one.includes('\0')))
    throw badRequest('mapping must be text without U+0000 and lone surrogates')
  const problem = columnsError(mapping.columns)
  if (problem) throw badRequest(problem)
  return mapping
}

const textsIn = (value: unknown): string[] =>
  typeof value === 'string'
    ? [value]
    : Object.entries(value ?? {}).flatMap(([key, one]) => [key, ...textsIn(one)])
