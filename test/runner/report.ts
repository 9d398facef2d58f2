import { readFile } from 'node:fs/promises'

const slowestFiles = 10

/** Milliseconds by test file. */
type Timings = Record<string, number>

/** Reads the output file of `bun test --timings`. */
export async function readTimings(path: string): Promise<Timings> {
  const text = await readFile(path, 'utf8').catch(() => '{"files":{}}')
  return (JSON.parse(text) as { files: Timings }).files
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
