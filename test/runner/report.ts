import { mkdir, readFile, writeFile } from 'node:fs/promises'
import { dirname } from 'node:path'
import { stripVTControlCharacters } from 'node:util'
import slowFiles from './slow-files.json'

const slowestFiles = 10
/** The assumed duration of a file that has not run yet. */
const usualMs = 2_000

/** Milliseconds by test file. */
type Timings = Record<string, number>

/** Reads the output file of `bun test --timings`. */
export async function readTimings(path: string): Promise<Timings> {
  const text = await readFile(path, 'utf8').catch(() => '{"files":{}}')
  return (JSON.parse(text) as { files: Timings }).files
}

/**
 * Adds the files without a duration to the output file of `bun test --timings`, and returns all durations. Bun starts the
 * slowest files first only if each file has a duration.
 */
export async function completeTimings(path: string): Promise<Timings> {
  const known: Timings = { ...slowFiles, ...(await readTimings(path)) }
  const paths = new Bun.Glob('test/**/*.test.ts').scanSync()
  const files = Object.fromEntries(Array.from(paths, (file) => [file, known[file] ?? usualMs]))
  await mkdir(dirname(path), { recursive: true })
  await writeFile(path, JSON.stringify({ version: 1, files }))
  return files
}

/** Lists the slowest test files of this run, or all files, with their seconds. `previous`: the timings before this run. */
export function slowestOf(timings: Timings, previous: Timings, isComplete: boolean): string {
  const files = Object.entries(timings).filter(([file, ms]) => ms !== previous[file])
  const sorted = files.sort(([, a], [, b]) => b - a)
  const shown = isComplete ? sorted : sorted.slice(0, slowestFiles)
  const lines = shown.map(([file, ms]) => `${(ms / 1_000).toFixed(1).padStart(7)} s  ${file}`)
  const title = `The ${isComplete ? '' : `${shown.length} `}slowest of ${sorted.length} files:`
  return [title, ...lines, ''].join('\n')
}

/** Reads the counts at the end of the output of `bun test`. Skipped tests count as failed. */
export function readSummary(output: string, exitCode: number | null) {
  const lines = stripVTControlCharacters(output).split('\n')
  const counts = new Map<string, number>()
  let end = lines.findLastIndex((line) => /^Ran \d+ tests? across/.test(line))
  for (; end > 0; end--) {
    const [, count, word] = /^ *(\d+) (\w+)/.exec(lines[end - 1] ?? '') ?? []
    if (word === undefined) break
    counts.set(word, Number(count))
  }
  const sum = (...words: string[]) => words.reduce((total, word) => total + (counts.get(word) ?? 0), 0)
  const failed = sum('fail', 'skip', 'todo')
  // A crash or an error outside of a test counts as one failure.
  return { passed: sum('pass'), failed: failed === 0 && exitCode !== 0 ? 1 : failed }
}
