import { spawnSync } from 'node:child_process'

export function promtool(words: string[], input = ''): { status: number | null; output: string } {
  const { status, stdout, stderr, error } = spawnSync('promtool', words, { input, encoding: 'utf8' })
  if (error) throw new Error('promtool is missing: npm run test:all installs it', { cause: error })
  return { status, output: stdout + stderr }
}
