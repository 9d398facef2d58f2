import { once } from 'node:events'
import { createReadStream, createWriteStream, type ReadStream, type WriteStream } from 'node:fs'
import { rm } from 'node:fs/promises'
import { resolve } from 'node:path'
import process from 'node:process'
import { resolveForCaller } from '../../src/local/environment.ts'
import { restoreBackup } from '../backup/restore.ts'
import { writeBackup } from '../backup/write.ts'
import { type AdminContext, type CommandGroup, AdminError } from './command-group.ts'

const standard = '-'

export const backup: CommandGroup = {
  '': ['<file>', 'writes a snapshot of all data, while the service runs; - means standard output', write],
}

async function write({ config }: AdminContext, file = ''): Promise<string> {
  if (file === standard) {
    await writeBackup(config.databaseUrl, process.stdout)
    return ''
  }
  const path = resolveForCaller(file)
  const to = await opened(createWriteStream(path, { flags: 'wx', mode: 0o600 }))
  await writeBackup(config.databaseUrl, to).catch(async (error: unknown) => {
    await rm(path)
    throw error
  })
  const secret = config.jwtSecret ? 'JWT_SECRET' : resolve(config.dataDir, 'jwt-secret')
  return `The backup is in ${path}. Keep ${secret} too: without it, sign-in tokens and webhook secrets are lost`
}

export const restore: CommandGroup = {
  '': [
    '<file> [replace]',
    'restores a backup into an empty database; replace deletes existing data first; - means standard input',
    read,
  ],
}

async function read({ config }: AdminContext, file = '', replace = ''): Promise<string> {
  if (replace && replace !== 'replace')
    throw new AdminError(`"${replace}" must be the word replace or be left out`)
  const from = file === standard ? process.stdin : await opened(createReadStream(resolveForCaller(file)))
  await restoreBackup(config.databaseUrl, from, { replaces: replace !== '' })
  return 'The backup is restored'
}

async function opened<S extends ReadStream | WriteStream>(stream: S): Promise<S> {
  await once(stream, 'open').catch(({ code, message }: NodeJS.ErrnoException) => {
    if (code === 'EEXIST') throw new AdminError(`${stream.path} already exists; name another file`)
    throw new AdminError(`${stream.path} cannot be opened: ${message}`)
  })
  return stream
}
