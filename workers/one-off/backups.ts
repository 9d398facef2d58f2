import { open, rm } from 'node:fs/promises'
import { resolve } from 'node:path'
import process from 'node:process'
import { resolveForCaller } from '../../src/local/environment.ts'
import { restoreBackup } from './restore.ts'
import { writeBackup } from './write-backup.ts'
import { type AdminContext, type CommandGroup, AdminError } from './command-group.ts'

const standard = '-'

export const backup: CommandGroup = {
  '': ['<file>', 'writes a snapshot of all data, while the service runs; - means standard output', write],
}

async function write({ config }: AdminContext, file = ''): Promise<string> {
  if (file === standard) {
    // The callback of `write` gets the error too.
    process.stdout.on('error', () => {})
    await writeBackup(config.databaseUrl, toStandardOutput)
    return ''
  }
  const path = resolveForCaller(file)
  const to = await opened(path, 'wx')
  const failed = fileFailed(path, 'written')
  try {
    await writeBackup(config.databaseUrl, (bytes) => to.appendFile(bytes).catch(failed))
    await to.sync().catch(failed)
    await to.close().catch(failed)
  } catch (error) {
    await to.close().catch(() => {})
    await rm(path, { force: true })
    throw error
  }
  const secret = config.jwtSecret ? 'JWT_SECRET' : resolve(config.dataDir, 'jwt-secret')
  return `The backup is in ${path}. Keep ${secret} too: without it, sign-in tokens and webhook secrets are lost`
}

/** Waits until the other program has received the bytes, because the end of this process would discard the rest. */
const toStandardOutput = (bytes: Uint8Array): Promise<void> =>
  new Promise<void>((resolve, reject) =>
    process.stdout.write(bytes, (error) => (error ? reject(error) : resolve())),
  ).catch(fileFailed('standard output', 'written'))

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
  await restoreBackup(config.databaseUrl, contentOf(file), { replaces: replace !== '' })
  return 'The backup is restored'
}

async function* contentOf(file: string): AsyncGenerator<Uint8Array, void, void> {
  const path = file === standard ? 'standard input' : resolveForCaller(file)
  const from = file === standard ? process.stdin : (await opened(path, 'r')).createReadStream()
  try {
    yield* from
  } catch (error) {
    fileFailed(path, 'read')(error as NodeJS.ErrnoException)
  }
}

const opened = (path: string, flags: 'r' | 'wx') => open(path, flags, 0o600).catch(fileFailed(path, 'opened'))

/** Returns a function that throws an AdminError for an error of a file or of its disk. */
const fileFailed =
  (path: string, verb: string) =>
  ({ code = '', message }: NodeJS.ErrnoException): never => {
    if (code === 'EEXIST') throw new AdminError(`${path} already exists; name another file`)
    const advice = ['ENOSPC', 'EDQUOT'].includes(code)
      ? '. Its disk is full: name a file on another disk'
      : ''
    throw new AdminError(`${path} cannot be ${verb}: ${message}${advice}`)
  }
