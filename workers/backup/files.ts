import { once } from 'node:events'
import { createReadStream, createWriteStream, type ReadStream, type WriteStream } from 'node:fs'
import { Wrong } from '../admin/topic.ts'

/** A file that only this user can read. @throws Wrong when it exists, or cannot be made */
export const openNewFile = (path: string): Promise<WriteStream> =>
  opened(createWriteStream(path, { flags: 'wx', mode: 0o600 }), path)

export const openFile = (path: string): Promise<ReadStream> => opened(createReadStream(path), path)

async function opened<S extends ReadStream | WriteStream>(stream: S, path: string): Promise<S> {
  await once(stream, 'open').catch(({ code, message }: NodeJS.ErrnoException) => {
    if (code === 'EEXIST') throw new Wrong(`${path} exists already: name another file`)
    throw new Wrong(`${path} cannot be opened: ${message}`)
  })
  return stream
}
