import { execFile } from 'node:child_process'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { newFolder } from '../../kit.ts'

const run = promisify(execFile)
/** The source of the release before, of commit 240b63a2, without the snapshots of its migrations. */
const archive = new URL('240b63a2.tar.gz', import.meta.url).pathname

/** Builds the release before in a folder. Returns its entry, and a function that migrates a database with it. */
export async function buildReleaseBefore() {
  const cwd = await newFolder()
  await run('tar', ['-xzf', archive], { cwd })
  await run(process.execPath, ['install', '--frozen-lockfile', '--production', '--ignore-scripts'], { cwd })
  const mainFile = join(cwd, 'src/main.ts')
  return {
    mainFile,
    async migrate(env: Record<string, string>): Promise<void> {
      const { PATH = '', HOME = '' } = process.env
      await run(process.execPath, ['--no-env-file', mainFile, 'migrate'], {
        cwd,
        env: { PATH, HOME, ...env },
      })
    },
  }
}
