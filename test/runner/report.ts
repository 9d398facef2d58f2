import { readFile } from 'node:fs/promises'

const slowestFiles = 10

/** Lists the slowest files of a run with their seconds, or all of them. `path` is what `bun test --timings` wrote. */
export async function slowestOf(path: string, isWhole: boolean): Promise<string> {
  const text = await readFile(path, 'utf8').catch(() => '{"files":{}}')
  const { files } = JSON.parse(text) as { files: Record<string, number> }
  const sorted = Object.entries(files).sort(([, a], [, b]) => b - a)
  const shown = isWhole ? sorted : sorted.slice(0, slowestFiles)
  const lines = shown.map(([file, ms]) => `${(ms / 1_000).toFixed(1).padStart(7)} s  ${file}`)
  return [`The ${isWhole ? '' : `${shown.length} `}slowest of ${sorted.length} files:`, ...lines, ''].join(
    '\n',
  )
}
