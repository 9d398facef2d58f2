import { pipeline } from 'node:stream/promises'
import Busboy, { type BusboyFileStream, type BusboyInstance } from '@fastify/busboy'
import { Type } from '@sinclair/typebox'
import { TypeCompiler } from '@sinclair/typebox/compiler'
import { badRequest, duplicateParameter } from '../../../src/responses/errors.ts'
import { unknownField, validationError } from '../../../src/schema/validation.ts'
import { storableValue } from '../convert/texts.ts'
import type { Mapping } from '../mapping.ts'
import { parseObject } from '../parse-object.ts'
import { columnsError } from '../readers/csv/columns.ts'
import { formBytes, ImportMapping, ImportParameters } from '../schema.ts'
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

const sourceMissing = () => badRequest('source is required: the system that wrote the file, such as csv')
const mappingNotJson = () => badRequest('mapping must be a JSON object')
export const parameterErrors = () => [sourceMissing(), mappingNotJson()]

/** @throws HttpError 400 */
export function readOptions({ mapping = '{}', ...fields }: Fields): ImportOptions {
  if (fields.source === undefined) throw sourceMissing()
  if (!parameters.Check(fields)) throw validationError(parameters.Errors(fields))
  return { source: fields.source!, dryRun: fields.dryRun === 'true', mapping: readMapping(mapping) }
}

/** Adds a field of a form. @throws HttpError 400 if the name is unknown or missing, or the query has the field too */
function addField(fields: Fields, name = '', value = ''): void {
  if (!names.includes(name)) throw unknownField(name, [...names, 'file'])
  if (fields[name] !== undefined) throw duplicateParameter(name)
  fields[name] = value
}

function readMapping(text: string): Mapping {
  const mapping: Mapping | undefined = parseObject(text)
  if (!mapping) throw mappingNotJson()
  if (!given.Check({ mapping })) throw validationError(given.Errors({ mapping }))
  if (JSON.stringify(storableValue(mapping)) !== JSON.stringify(mapping))
    throw badRequest('mapping must be text without U+0000 and lone surrogates')
  const problem = columnsError(mapping.columns)
  if (problem) throw badRequest(problem)
  return mapping
}

const fileMissing = () => badRequest('file is required: the part of the form that contains the file')
const notForm = () =>
  badRequest('The body must be valid multipart/form-data, with the file and its parameters')
const mappingTooLong = () => badRequest(`mapping must have at most ${formBytes} bytes`)
export const formErrors = () => [mappingTooLong(), notForm(), fileMissing()]

export const isForm = ({ headers }: Request): boolean =>
  /^multipart\/form-data\s*(;|$)/i.test(headers.get('content-type') ?? '')

/** The maximum number of parts: the file, and each parameter once. */
const limits = { files: 1, fields: 3, parts: 4, headerPairs: 20, fieldSize: formBytes }

/**
 * Reads a form with backpressure: stores its file, and adds its other parts to `fields`.
 * @throws HttpError 400
 */
export async function readForm(
  headers: Headers,
  parts: AsyncIterable<Uint8Array>,
  fields: Fields,
  store: (file: AsyncIterable<Uint8Array>) => Promise<void>,
): Promise<void> {
  const form = openForm(headers)
  let error: unknown
  const fail = (reason: unknown) => {
    error ??= reason
    form.destroy(reason as Error)
  }
  let file: BusboyFileStream | undefined
  let stored: Promise<void> | undefined
  form.on('file', (_, stream) => {
    file = stream.on('error', () => fail(notForm()))
    stored = store(stream)
    stored.catch(fail)
  })
  form.on('field', (name, value, _, isCut) => {
    try {
      if (isCut) throw name === 'mapping' ? mappingTooLong() : notForm()
      addField(fields, name, value)
    } catch (reason) {
      fail(reason)
    }
  })
  form.on('filesLimit', () => fail(duplicateParameter('file')))
  for (const event of ['fieldsLimit', 'partsLimit', 'error'] as const) form.on(event, () => fail(notForm()))
  await pipeline(copiesOf(parts), form).catch(async (reason) => {
    file?.destroy(reason)
    await stored?.catch(() => {})
    throw error ?? reason
  })
  if (!stored) throw fileMissing()
  await stored
}

/** Copies each part, because the form still reads a part after the next part was requested. */
async function* copiesOf(parts: AsyncIterable<Uint8Array>) {
  for await (const part of parts) yield Buffer.from(part)
}

function openForm(headers: Headers): BusboyInstance {
  try {
    const options = { headers: { 'content-type': headers.get('content-type')! }, limits }
    return new Busboy({ ...options, isPartAFile: (name) => name === 'file' })
  } catch {
    throw notForm()
  }
}
