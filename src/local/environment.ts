import { readFileSync } from 'node:fs'
import { resolve } from 'node:path'
import { parseEnv } from 'node:util'

/** Returns the names of the variables in the `.env` files that Bun reads. */
export function namesInEnvFiles(): Set<string> {
  const mode = process.env.NODE_ENV || 'development'
  return new Set(['.env', `.env.${mode}`, '.env.local', `.env.${mode}.local`].flatMap(namesIn))
}

function namesIn(file: string): string[] {
  try {
    return Object.keys(parseEnv(readFileSync(file, 'utf8')))
  } catch {
    return []
  }
}

/** npm runs commands in the folder of package.json; INIT_CWD is the folder of the caller. */
export const resolveForCaller = (path: string): string => resolve(process.env.INIT_CWD ?? '', path)
