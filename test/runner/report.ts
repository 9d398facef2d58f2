import { readFile } from 'node:fs/promises'

const slowestFiles = 10

/** Lists the slowest test files, or all files, with their seconds. `path` is the output file of `bun test --timings`. */
export async function slowestOf(path: string, isComplete: boolean): Promise<string> {
  const text = await readFile(path, 'utf8').catch(() => '{"files":{}}')
  const { files } = JSON.parse(text) as { files: Record<string, number> }
  const sorted = Object.entries(files).sort(([, a], [, b]) => b - a)
  const shown = isComplete ? sorted : sorted.slice(0, slowestFiles)
  const lines = shown.map(([file, ms]) => `${(ms / 1_000).toFixed(1).padStart(7)} s  ${file}`)
  const title = `The ${isComplete ? '' : `${shown.length} `}slowest of ${sorted.length} files:`
  return [title, ...lines, ''].join('\n')
}
