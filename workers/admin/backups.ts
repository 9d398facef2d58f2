import { once } from 'node:events'
import { createReadStream, createWriteStream, type ReadStream, type WriteStream } from 'node:fs'
import { rm } from 'node:fs/promises'
import { resolve } from 'node:path'
import process from 'node:process'
import { restoreBackup } from '../backup/restore.ts'
import { writeBackup } from '../backup/write.ts'
import { type Topic, Wrong } from './topic.ts'

const standard = '-'

/** npm runs a script in the folder of package.json, and says where it was called. */
const pathOf = (file: string): string => resolve(process.env.INIT_CWD ?? '', file)

/** @throws Wrong when the file cannot be had */
const opened = (stream: ReadStream | WriteStream, file: string): Promise<unknown> =>
  once(stream, 'open').catch(({ code, message }: NodeJS.ErrnoException) => {
    if (code === 'EEXIST') throw new Wrong(`${file} exists already: name another file`)
    throw new Wrong(`${file} cannot be opened: ${message}`)
  })

async function openedFor(file: string): Promise<ReadStream> {
  const from = createReadStream(pathOf(file))
  await opened(from, file)
  return from
}

export const backup: Topic = {
  '': {
    takes: '<file>',
    does: 'all data of one moment, while it serves; - is standard output',
    run: async ({ config }, file = '') => {
      if (file === standard) {
        await writeBackup(config.databaseUrl, process.stdout)
        return ''
      }
      const path = pathOf(file)
      const to = createWriteStream(path, { flags: 'wx', mode: 0o600 })
      await opened(to, file)
      await writeBackup(config.databaseUrl, to).catch(async (error: unknown) => {
        await rm(path)
        throw error
      })
      const secret = config.jwtSecret ? 'JWT_SECRET' : resolve(config.dataDir, 'jwt-secret')
      return `The backup is in ${path}. Keep ${secret} too: tokens and the secrets of webhooks need it`
    },
  },
}

export const restore: Topic = {
  '': {
    takes: '<file> [replace]',
    does: 'a backup into an empty database, or in place of what it holds; - is standard input',
    run: async ({ config }, file = '', replace = '') => {
      if (replace && replace !== 'replace')
        throw new Wrong(`"${replace}" must be the word replace, or nothing`)
      const from = file === standard ? process.stdin : await openedFor(file)
      await restoreBackup(config.databaseUrl, from, { replaces: replace !== '' })
      return 'The backup is restored'
    },
  },
}
