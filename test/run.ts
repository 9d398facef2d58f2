import { type ChildProcess, spawn } from 'node:child_process'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { everydayFolder } from './runner/folder.ts'
import { installPrograms, deepPrograms, redis } from './runner/programs.ts'
import { completeTimings, readSummary, readTimings, slowestOf } from './runner/report.ts'
import { bundleService } from './runner/bundle.ts'
import { startServers, type TestServers } from './runner/servers.ts'

/** More than the cores of a small machine, because many tests wait for processes. */
const parallelFiles = 4
const testTimeoutMs = 120_000
/** Factor for the cases of property tests. */
const deepDepth = '10'
const inRunner = (name: string) => new URL(`./runner/${name}`, import.meta.url).pathname
const deepFiles = '.deep.test.ts'
const cacheDir = new URL('../node_modules/.cache/', import.meta.url).pathname
/** The durations of earlier runs, by which the slowest files start first. */
const timings = join(cacheDir, 'test-timings.json')

let tests: ChildProcess | undefined
let isInterrupted = false
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(signal, interrupt)
process.exit(await main(process.argv.slice(2)))

/**
 * Runs the tests on a new Postgres and Redis; the last line is `N passed, N failed`.
 * @param args `--all`: also the deep files; `--deep`: only the deep files; `--profile`: the seconds of all files.
 *   All other arguments are passed to `bun test`.
 */
async function main(args: string[]): Promise<number> {
  const flags = ['--all', '--deep', '--profile'] as const
  const [isAll, isDeep, isProfile] = flags.map((flag) => args.includes(flag))
  const given = args.filter((arg) => !flags.some((flag) => flag === arg))
  const isEveryday = !isAll && !isDeep
  const dataDir = await mkdtemp(join(isEveryday ? await everydayFolder() : tmpdir(), 'docket-test-'))
  let starting: Promise<TestServers> | undefined
  let result = { passed: 0, failed: 1 }
  try {
    await installPrograms(isEveryday ? [redis] : [redis, ...deepPrograms], join(cacheDir, 'test-programs'))
    starting = startServers(dataDir)
    const bundling = given.length === 0 ? bundleService(dataDir) : {}
    const [{ env }, program] = await Promise.all([starting, bundling])
    const previous = await completeTimings(timings)
    const files = given.length > 0 || isAll ? given : filesOf(isDeep)
    const preload = ['globals.ts', ...(isEveryday ? ['cheap-passwords.ts'] : [])].map(
      (name) => `--preload=${inRunner(name)}`,
    )
    const TEST_DEPTH = process.env.TEST_DEPTH ?? (isEveryday ? '1' : deepDepth)
    if (!isInterrupted) result = await runTests([...files, ...preload], { ...env, ...program, TEST_DEPTH })
    process.stdout.write(slowestOf(await readTimings(timings), previous, isProfile === true))
  } catch (error) {
    console.error(error instanceof Error ? error.message : error)
  }
  await starting?.then((servers) => servers.stop()).catch(console.error)
  await rm(dataDir, { recursive: true, force: true, maxRetries: 3 }).catch(console.error)
  process.stdout.write(`${result.passed} passed, ${result.failed} failed\n`)
  if (isInterrupted) return 130
  return result.failed > 0 || result.passed === 0 ? 1 : 0
}

/** Without file names on the command line, deep files run only with --all or --deep. */
function filesOf(isDeep = false): string[] {
  return isDeep ? [deepFiles] : [`--path-ignore-patterns=**/*${deepFiles}`]
}

async function runTests(args: string[], env: Record<string, string>) {
  // --no-orphans ends the servers that a failed test leaves running. --no-isolate loads the service once per worker.
  const limits = [
    `--timeout=${testTimeoutMs}`,
    `--parallel=${parallelFiles}`,
    '--no-isolate',
    ...[`--timings=${timings}`, '--update-timings'],
  ]
  const colour = process.stdout.isTTY ? { FORCE_COLOR: '1' } : {}
  const child = spawn(process.execPath, ['test', '--no-env-file', '--no-orphans', ...limits, ...args], {
    env: { ...process.env, ...colour, ...env },
    stdio: ['ignore', 'inherit', 'pipe'],
  })
  tests = child
  let output = ''
  child.stderr.on('data', (chunk: Buffer) => {
    process.stderr.write(chunk)
    output = (output + chunk.toString()).slice(-65_536)
  })
  const exitCode = await new Promise<number | null>((resolve, reject) => {
    child.once('error', reject)
    child.once('close', resolve)
  })
  return readSummary(output, exitCode)
}

// bun test exits on SIGTERM; then main stops the servers and removes the folder.
function interrupt(): void {
  isInterrupted = true
  tests?.kill('SIGTERM')
}
