import { readFileSync } from 'node:fs'
import { parseEnv } from 'node:util'

/** Returns the names of all environment variables. `inFiles` lists the names that Bun has read from `.env` files. */
export function variableNames() {
  const inEnvironment = Object.keys(process.env)
  const mode = process.env.NODE_ENV || 'development'
  const files = ['.env', `.env.${mode}`, '.env.local', `.env.${mode}.local`]
  const isRead = !process.execArgv.includes('--no-env-file')
  const names = new Set(isRead ? files.flatMap(namesIn) : [])
  return { inEnvironment, inFiles: inEnvironment.filter((name) => names.has(name)) }
}

function namesIn(file: string): string[] {
  try {
    return Object.keys(parseEnv(readFileSync(file, 'utf8')))
  } catch {
    return []
  }
}
