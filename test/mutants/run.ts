import { cp, mkdtemp, readdir, rename, rm, symlink, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { everydayFolder } from '../runner/folder.ts'
import { startServers } from '../runner/servers.ts'
import { type Mutant, readMutants } from './list.ts'
import { type Result, printResults } from './results.ts'
import { runTests } from './run-tests.ts'

/**
 * Puts deliberate faults into copies of the project, one at a time, and runs the tests that should notice each fault.
 * Usage: `bun test/mutants/run.ts [filter] [--sample N] [--resume] [--lanes N] [--check]`. The filter is a part of an
 * entry or the name of a list. `--resume` runs only the entries that no test has noticed yet. `--check` runs no test.
 */
const root = new URL('../../', import.meta.url)
const stored = new URL('node_modules/.cache/mutants.json', root).pathname
const options = {
  sample: { type: 'string' },
  lanes: { type: 'string', default: '2' },
  resume: { type: 'boolean' },
  check: { type: 'boolean' },
} as const

process.exit(await main())

async function main(): Promise<number> {
  const { values, positionals } = parseArgs({ options, allowPositionals: true })
  const chosen = chooseFrom(await readMutants(new URL('./', import.meta.url)), positionals[0], values.sample)
  const testFiles = [...new Bun.Glob('**/*.test.ts').scanSync(new URL('test/', root).pathname)].sort()
  const faulty = (await Promise.all(chosen.map((one) => problemOf(one, testFiles)))).filter(Boolean)
  if (faulty.length > 0) {
    console.error(faulty.join('\n\n'))
    return 1
  }
  if (values.check) return (console.log(`${chosen.length} entries are applicable`), 0)
  const results = await readResults()
  const left = chosen.filter(
    ({ key }) => !(values.resume && (results[key]?.outcome ?? 'survived') !== 'survived'),
  )
  // Those that survived the last run come first.
  left.sort((a, b) => Number(!results[a.key]) - Number(!results[b.key]))
  await runAll(left, testFiles, Number(values.lanes), async (mutant, result) => {
    results[mutant.key] = result
    console.log(
      `${result.outcome.padEnd(9)} ${result.seconds} s  ${mutant.topic}  ${mutant.text.split('\n')[1]}`,
    )
    await writeFile(`${stored}.new`, JSON.stringify(results))
    await rename(`${stored}.new`, stored)
  })
  return printResults(chosen, results)
}

/** In an order that looks random and never changes, so that an interrupted run and a sample contain every topic. */
function chooseFrom(all: Mutant[], filter = '', sample?: string): Mutant[] {
  const found = all.filter(({ topic, text }) => topic === filter || text.includes(filter))
  const key = ({ text }: Mutant) => Bun.hash(sample === undefined ? text : text + process.pid)
  const shuffled = found.sort((a, b) => (key(a) < key(b) ? -1 : 1))
  return sample === undefined ? shuffled : shuffled.slice(0, Number(sample))
}

async function problemOf(mutant: Mutant, testFiles: string[]): Promise<string | undefined> {
  try {
    mutant.apply(await Bun.file(new URL(mutant.file, root)).text())
    const missing = mutant.tests.find((start) => !testFiles.some((file) => file.startsWith(start)))
    return missing && `${mutant.topic}: there is no test file test/${missing}*\n${mutant.text}`
  } catch (error) {
    return `${mutant.topic}: ${String(error)}\n${mutant.text}`
  }
}

async function readResults(): Promise<Record<string, Result>> {
  return (await Bun.file(stored).exists()) ? Bun.file(stored).json() : {}
}

/** Starts Postgres and Redis once, and copies the project once for each lane. */
async function runAll(
  mutants: Mutant[],
  testFiles: string[],
  lanes: number,
  onResult: (mutant: Mutant, result: Result) => Promise<void>,
): Promise<void> {
  const dataDir = await mkdtemp(join(await everydayFolder(), 'docket-mutants-'))
  const copies = await mkdtemp(join(tmpdir(), 'docket-mutants-'))
  const servers = await startServers(dataDir)
  const close = async () => {
    await servers.stop()
    for (const dir of [dataDir, copies]) await rm(dir, { recursive: true, force: true, maxRetries: 3 })
  }
  for (const signal of ['SIGINT', 'SIGTERM'])
    process.once(signal, () => close().finally(() => process.exit(1)))
  const waiting = mutants.values()
  const lane = async (_: unknown, n: number) => {
    const copy = join(copies, String(n))
    await copyProject(copy)
    for (const mutant of waiting) await onResult(mutant, await tryOne(mutant, copy, testFiles, servers.env))
  }
  try {
    await Promise.all(Array.from({ length: lanes }, lane))
  } finally {
    await close()
  }
}

async function copyProject(to: string): Promise<void> {
  const from = root.pathname
  for (const name of await readdir(from))
    if (name !== 'node_modules' && name !== '.git')
      await cp(join(from, name), join(to, name), { recursive: true })
  await symlink(join(from, 'node_modules'), join(to, 'node_modules'))
}

/** Runs the everyday tests of the fault and, if these pass, the deep tests. */
async function tryOne(
  { file, tests, apply }: Mutant,
  copy: string,
  testFiles: string[],
  env: Record<string, string>,
): Promise<Result> {
  const named = tests.flatMap((start) => testFiles.filter((one) => one.startsWith(start)))
  const changed = join(copy, file)
  const original = await Bun.file(changed).text()
  const began = performance.now()
  await writeFile(changed, apply(original))
  try {
    const seconds = () => Math.round((performance.now() - began) / 1_000)
    for (const [outcome, isDeep] of [
      ['everyday', false],
      ['deep', true],
    ] as const) {
      const files = named.filter((one) => one.includes('.deep.') === isDeep)
      const failed = files.length > 0 && (await runTests(copy, files, env))
      if (failed) return { outcome, seconds: seconds(), failed }
    }
    return { outcome: 'survived', seconds: seconds() }
  } finally {
    await writeFile(changed, original)
  }
}
