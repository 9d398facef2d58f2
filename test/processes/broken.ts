import { existsSync } from 'node:fs'

// Preloaded by tests: while BREAK_FILE exists, child processes exit as soon as they start.
if (process.argv.includes('led') && existsSync(process.env.BREAK_FILE ?? '')) {
  console.error('broken on purpose')
  process.exit(7)
}
