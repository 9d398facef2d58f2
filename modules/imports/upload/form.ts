import Busboy, { type BusboyFileStream, type BusboyInstance } from '@fastify/busboy'
import { Type } from '@sinclair/typebox'
import { TypeCompiler } from '@sinclair/typebox/compiler'
import { badRequest, duplicateParameter } from '../../../src/responses/errors.ts'
import { unknownField, validationError } from '../../../src/schema/validation.ts'
import type { Mapping } from '../mapping.ts'
import { parseObject } from '../parse-object.ts'
import { columnsError } from '../readers/csv/columns.ts'
import { ImportMapping, ImportParameters } from '../schema.ts'
import type { Source } from '../sources.ts'
import { freeMemory } from './file.ts'

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

export const fileMissing = () => badRequest('file is required: the part of the form that contains the file')
export const notForm = () =>
  badRequest('The body must be valid multipart/form-data, with the file and its parameters')
export const mappingTooLong = (bytes: number) => badRequest(`mapping must have at most ${bytes} bytes`)

export const isForm = ({ headers }: Request): boolean =>
  /^multipart\/form-data\s*(;|$)/i.test(headers.get('content-type') ?? '')

type Write = (bytes: Uint8Array) => Promise<void>

/**
 * Reads a form with backpressure: writes its file, and adds its other parts to `fields`.
 * @throws HttpError 400
 */
export async function readForm(
  headers: Headers,
  parts: AsyncIterable<Uint8Array>,
  fields: Fields,
  fieldBytes: number,
  write: Write,
): Promise<void> {
  const form = openForm(headers, fieldBytes)
  const { promise: failed, reject: fail } = Promise.withResolvers<never>()
  failed.catch(() => {})
  // The body may have more bytes after the end of the form.
  const finished = new Promise<void>((resolve) => form.once('finish', resolve))
  const done = (step?: Promise<void>) => Promise.race([step, failed])
  let file: FormFile | undefined
  form.on('file', (_, stream) => {
    file = new FormFile(stream, write, fail)
  })
  readFields(form, fields, fieldBytes, fail)
  try {
    for await (const part of parts) {
      await done(new Promise((resolve) => form.write(part, () => resolve())))
      await done(file?.written())
      freeMemory(part)
    }
    form.end()
    await done(finished)
    await done(file?.written())
  } finally {
    form.destroy()
  }
  if (!file) throw fileMissing()
}

function readFields(
  form: BusboyInstance,
  fields: Fields,
  fieldBytes: number,
  fail: (error: unknown) => void,
): void {
  form.on('field', (name, value, _, isCut) => {
    try {
      if (isCut) throw name === 'mapping' ? mappingTooLong(fieldBytes) : notForm()
      addField(fields, name, value)
    } catch (error) {
      fail(error)
    }
  })
  form.on('filesLimit', () => fail(duplicateParameter('file')))
  for (const event of ['fieldsLimit', 'partsLimit', 'error'] as const) form.on(event, () => fail(notForm()))
}

/** Writes the file of a form, one piece after another. A piece shares its memory with a part of the body. */
class FormFile {
  private isWriting = false
  private onWritten = () => {}

  constructor(
    private readonly stream: BusboyFileStream,
    write: Write,
    fail: (error: unknown) => void,
  ) {
    // If the file ends early, the form reports the error.
    stream.on('error', () => {})
    stream.on('data', (bytes: Uint8Array) => {
      this.isWriting = true
      stream.pause()
      write(bytes).then(() => this.next(), fail)
    })
  }

  private next(): void {
    this.isWriting = false
    this.stream.resume()
    if (this.isIdle) this.onWritten()
  }

  private get isIdle(): boolean {
    return !this.isWriting && this.stream.readableLength === 0
  }

  /** Waits until all bytes that the form has parsed so far are written. */
  async written(): Promise<void> {
    if (!this.isIdle) await new Promise<void>((resolve) => (this.onWritten = resolve))
  }
}

/** The maximum number of parts: the file, and each parameter once. */
const limits = { files: 1, fields: 3, parts: 4, headerPairs: 20 }

function openForm(headers: Headers, fieldSize: number): BusboyInstance {
  try {
    return new Busboy({
      headers: { 'content-type': headers.get('content-type')! },
      limits: { ...limits, fieldSize },
      isPartAFile: (name) => name === 'file',
    })
  } catch {
    throw notForm()
  }
}
