import { stripVTControlCharacters } from 'node:util'

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
