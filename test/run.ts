import { type ChildProcess, spawn } from 'node:child_process'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { installPrograms, peers, redis } from './runner/programs.ts'
import { slowestOf } from './runner/report.ts'
import { startServers, type TestServers } from './runner/servers.ts'
import { readSummary } from './runner/summary.ts'

/** More than two cores need: tests of processes mostly wait. */
const parallelFiles = 4
const testTimeoutMs = 120_000
/** How many cases property tests try, as a factor. */
const deepDepth = '10'
const deepFiles = '.deep.test.ts'
const programsDir = new URL('../node_modules/.cache/test-programs', import.meta.url).pathname

let tests: ChildProcess | undefined
let isInterrupted = false
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(signal, interrupt)
process.exit(await main(process.argv.slice(2)))

/**
 * Runs the tests on a Postgres and a Redis of their own; the last line is `N passed, N failed`.
 * @param args `--all`: the deep files too; `--deep`: only these; `--profile`: the seconds of all files. Everything else
 *   is for `bun test`: files or folders, and its options.
 */
async function main(args: string[]): Promise<number> {
  const own = ['--all', '--deep', '--profile'] as const
  const [isAll, isDeep, isProfile] = own.map((flag) => args.includes(flag))
  const given = args.filter((arg) => !own.some((flag) => flag === arg))
  const dataDir = await mkdtemp(join(tmpdir(), 'docket-test-'))
  let servers: TestServers | undefined
  let result = { passed: 0, failed: 1 }
  try {
    await installPrograms(isAll || isDeep ? [redis, ...peers] : [redis], programsDir)
    servers = await startServers(dataDir)
    const timings = join(dataDir, 'timings.json')
    const TEST_DEPTH = process.env.TEST_DEPTH ?? (isAll || isDeep ? deepDepth : '1')
    const files = given.length > 0 || isAll ? given : filesOf(isDeep)
    if (!isInterrupted)
      result = await runTests([...files, `--timings=${timings}`], { ...servers.env, TEST_DEPTH })
    process.stdout.write(await slowestOf(timings, isProfile === true))
  } catch (error) {
    console.error(error instanceof Error ? error.message : error)
  }
  await servers?.stop().catch(console.error)
  await rm(dataDir, { recursive: true, force: true, maxRetries: 3 }).catch(console.error)
  process.stdout.write(`${result.passed} passed, ${result.failed} failed\n`)
  if (isInterrupted) return 130
  return result.failed > 0 || result.passed === 0 ? 1 : 0
}

/** Files named on the command line run in any case; without names, deep files run only where they are asked for. */
function filesOf(isDeep = false): string[] {
  return isDeep ? [deepFiles] : [`--path-ignore-patterns=**/*${deepFiles}`]
}

async function runTests(args: string[], env: Record<string, string>) {
  // --no-orphans: servers that a failed test left behind end with the run.
  const limits = [`--timeout=${testTimeoutMs}`, `--parallel=${parallelFiles}`, '--update-timings']
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

// bun test ends its tests on SIGTERM at once; what follows in main cleans up.
function interrupt(): void {
  isInterrupted = true
  tests?.kill('SIGTERM')
}
