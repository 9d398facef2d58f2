import { chown, mkdir, realpath, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { randomBytes } from 'node:crypto'
import postgres from 'postgres'
import { freePort, until } from '../kit.ts'
import { serverUser } from '../../src/local/postgres.ts'
import { endServer, launch, logTail } from '../../src/local/server.ts'

const readyTimeoutMs = 30_000

/** Starts a PgBouncer in transaction mode, with a limited number of connections to the Postgres at `url`. */
export async function openPgBouncer(databaseUrl: string, connections: number) {
  const program = Bun.which('pgbouncer')
  if (!program) throw new Error('pgbouncer is missing: npm run test:all installs it')
  const { hostname, port, username, password } = new URL(databaseUrl)
  const dir = join(await realpath(process.env.TEST_DATA_DIR!), `pgbouncer-${randomBytes(4).toString('hex')}`)
  const own = await freePort()
  await mkdir(dir)
  await writeFile(join(dir, 'users'), `"${username}" "${decodeURIComponent(password)}"\n`)
  await writeFile(
    join(dir, 'pgbouncer.ini'),
    `[databases]
* = host=${hostname} port=${port}
[pgbouncer]
listen_addr = 127.0.0.1
listen_port = ${own}
unix_socket_dir =
auth_type = scram-sha-256
auth_file = ${dir}/users
pool_mode = transaction
default_pool_size = ${connections}
max_client_conn = 500
`,
  )
  // PgBouncer refuses to run as root.
  const user = await serverUser(dir)
  if (user)
    for (const name of ['', 'users', 'pgbouncer.ini']) await chown(join(dir, name), user.uid, user.gid)
  const logFile = `${dir}.log`
  const { pid } = launch([program, join(dir, 'pgbouncer.ini')], logFile, { cwd: dir, ...user })
  const through = (url: string) => Object.assign(new URL(url), { port: String(own) }).href
  const answers = async () => {
    const sql = postgres(through(databaseUrl), { max: 1, prepare: false, fetch_types: false })
    return sql`select 1`.then(...yesOrUndefined).finally(() => sql.end({ timeout: 1 }))
  }
  if (!(await until(answers, readyTimeoutMs)))
    throw new Error(`PgBouncer did not start: ${await logTail(logFile)}`)
  return { through, stop: () => endServer(pid, dir, 'SIGKILL', readyTimeoutMs) }
}

const yesOrUndefined = [() => true, () => undefined] as const
