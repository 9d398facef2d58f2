import { readFileSync } from 'node:fs'
import { resolve } from 'node:path'
import { parseEnv } from 'node:util'

/** The names of the variables that this process was given, and of those that come from `.env` files. */
export function givenNames(): { inFiles: string[]; inEnvironment: string[] } {
  const inEnvironment = Object.keys(process.env)
  return { inEnvironment, inFiles: namesInFiles().filter((name) => inEnvironment.includes(name)) }
}

/** What stands in the files that Bun has read into the environment, unless it was told not to. */
function namesInFiles(): string[] {
  if (process.execArgv.includes('--no-env-file')) return []
  const mode = process.env.NODE_ENV || 'development'
  const files = ['.env', `.env.${mode}`, '.env.local', `.env.${mode}.local`]
  return [...new Set(files.flatMap((file) => Object.keys(parseEnv(textOf(file)))))]
}

function textOf(file: string): string {
  try {
    return readFileSync(file, 'utf8')
  } catch {
    return '' // it does not exist, or belongs to somebody else
  }
}

/** A path as it was written: npm runs a script in the folder of package.json, and notes in which folder npm was called. */
export const calledIn = (path: string): string => resolve(process.env.INIT_CWD ?? '', path)
