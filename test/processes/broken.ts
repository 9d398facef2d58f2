import { existsSync } from 'node:fs'

// Loaded before the service: as long as the file is there, a process that others lead ends as soon as it starts.
if (process.argv.includes('led') && existsSync(process.env.BREAK_FILE ?? '')) {
  console.error('broken on purpose')
  process.exit(7)
}
