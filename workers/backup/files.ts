import { once } from 'node:events'
import { createReadStream, createWriteStream, type ReadStream, type WriteStream } from 'node:fs'
import { AdminError } from '../admin/command-group.ts'

/** Only the current user can read the file. @throws AdminError if the file exists or cannot be created */
export const openNewFile = (path: string): Promise<WriteStream> =>
  opened(createWriteStream(path, { flags: 'wx', mode: 0o600 }), path)

export const openFile = (path: string): Promise<ReadStream> => opened(createReadStream(path), path)

async function opened<S extends ReadStream | WriteStream>(stream: S, path: string): Promise<S> {
  await once(stream, 'open').catch(({ code, message }: NodeJS.ErrnoException) => {
    if (code === 'EEXIST') throw new AdminError(`${path} already exists; name another file`)
    throw new AdminError(`${path} cannot be opened: ${message}`)
  })
  return stream
}
