import { pipeline } from 'node:stream/promises'
import Busboy, { type BusboyFileStream, type BusboyInstance } from '@fastify/busboy'
import { badRequest, duplicateParameter, HttpError } from '../../../src/responses/errors.ts'
import { addField, type Fields } from './fields.ts'

export const fileMissing = () => badRequest('file is required: the part of the form that contains the file')
export const notForm = () =>
  badRequest('The body must be valid multipart/form-data, with the file and its parameters')

export const isForm = ({ headers }: Request): boolean =>
  /^multipart\/form-data\s*(;|$)/i.test(headers.get('content-type') ?? '')

type Write = (bytes: Uint8Array) => Promise<void>

/**
 * Reads a form: writes its file, and adds its other parts to `fields`. The client sends more only after a write is done.
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
  let file: Promise<void> | undefined
  let failure: unknown
  const fail = (error: unknown) => {
    failure ??= error
    form.destroy(failure as Error)
  }
  const attempt = async (work: () => unknown) => {
    try {
      await work()
    } catch (error) {
      fail(error)
    }
  }
  form.on('file', (_, stream) => {
    file = writeAll(stream, (bytes) => attempt(() => write(bytes)))
    // The file ends early. The form then reports the error.
    file.catch(() => {})
  })
  form.on('field', (name, value, _, isCut) => {
    if (isCut) fail(notForm())
    else void attempt(() => addField(fields, name, value))
  })
  form.on('filesLimit', () => fail(duplicateParameter('file')))
  for (const event of ['fieldsLimit', 'partsLimit'] as const) form.on(event, () => fail(notForm()))
  try {
    await pipeline(parts, form)
    await file
  } catch (error) {
    throw failure ?? (error instanceof HttpError ? error : notForm())
  }
  if (!file) throw fileMissing()
}

/** The most parts: the file, and each parameter once. */
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

async function writeAll(file: BusboyFileStream, write: Write): Promise<void> {
  for await (const bytes of file) await write(bytes as Uint8Array)
}
