import { readFileSync } from 'node:fs'
import { resolve } from 'node:path'
import { parseEnv } from 'node:util'

/** The names of the variables of this process, and of those from the `.env` files that Bun has read. */
export function givenNames() {
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
    return [] // it does not exist, or is closed to this user
  }
}

/** npm runs a script in the folder of package.json: a path is relative to the folder where npm was called. */
export const calledIn = (path: string): string => resolve(process.env.INIT_CWD ?? '', path)
