import { spawnSync } from 'node:child_process'

/** What an endpoint tells: each series with its labels in order, and its value. */
export async function scrape(
  port: number,
): Promise<{ text: string; of(series: string): number | undefined }> {
  const response = await fetch(`http://127.0.0.1:${port}/metrics`)
  const text = await response.text()
  if (response.status !== 200) throw new Error(`/metrics answered ${response.status} ${text}`)
  const lines = text.split('\n').filter((line) => line && !line.startsWith('#'))
  const values = new Map(
    lines.map((line) => [line.slice(0, line.lastIndexOf(' ')), Number(line.split(' ').at(-1))]),
  )
  return { text, of: (series) => values.get(series) }
}

/** Runs Prometheus' own tool, and gives what it says. It is never done without: CI installs it, as README says. */
export function promtool(words: string[], input = ''): { status: number | null; output: string } {
  const { status, stdout, stderr, error } = spawnSync('promtool', words, { input, encoding: 'utf8' })
  if (error)
    throw new Error('promtool is missing: apt-get install --no-install-recommends prometheus', {
      cause: error,
    })
  return { status, output: stdout + stderr }
}
