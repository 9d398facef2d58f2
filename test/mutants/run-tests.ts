import { spawn } from 'node:child_process'
import { stripVTControlCharacters } from 'node:util'
import postgres from 'postgres'

const testTimeoutMs = 60_000
/** A run of the tests of one fault ends after this time. A fault that makes tests hang is noticed too. */
const maxMs = 240_000

/** Returns the name of the first test that fails, or why the run ended; undefined if all tests pass. */
export async function runTests(
  dir: string,
  files: string[],
  env: Record<string, string>,
): Promise<string | undefined> {
  const flags = ['--no-env-file', '--no-orphans', '--no-isolate', '--bail', `--timeout=${testTimeoutMs}`]
  const preload = ['globals', 'cheap-passwords'].map((name) => `--preload=./test/runner/${name}.ts`)
  const args = ['test', ...flags, ...preload, ...files.map((file) => `./test/${file}`)]
  const child = spawn(process.execPath, args, {
    ...{ cwd: dir, detached: true, stdio: ['ignore', 'pipe', 'pipe'] },
    env: { ...process.env, ...env, TEST_DEPTH: '1' },
  })
  let output = ''
  for (const stream of [child.stdout, child.stderr])
    stream!.on('data', (chunk: Buffer) => (output = (output + chunk.toString()).slice(-1_000_000)))
  let isLate = false
  const timer = setTimeout(() => {
    isLate = true
    process.kill(-child.pid!, 'SIGKILL')
  }, maxMs)
  const code = await new Promise<number | null>((resolve) => child.once('close', resolve))
  clearTimeout(timer)
  await dropDatabases(env.TEST_DATABASE_URL!, child.pid!)
  if (isLate) return 'the tests hang'
  if (code === 0) return undefined
  const [, name] = /^\(fail\) (.*)$/m.exec(stripVTControlCharacters(output)) ?? []
  return name ?? (output.trim().split('\n').at(-1) || `exit code ${code}`)
}

/** Drops the databases of a process that has ended: files share a database, and a killed process drops none. */
async function dropDatabases(url: string, pid: number): Promise<void> {
  const sql = postgres(url, { max: 1, onnotice: () => {} })
  const names = await sql<{ name: string }[]>`
    select datname as name from pg_database where datname like ${`t\\_${pid}\\_%`}`
  for (const { name } of names) await sql`drop database if exists ${sql(name)} with (force)`
  await sql.end({ timeout: 5 })
}
