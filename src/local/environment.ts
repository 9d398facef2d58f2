import { readFileSync } from 'node:fs'
import { resolve } from 'node:path'
import { parseEnv } from 'node:util'

/** The names of the variables of this process, and of those from the `.env` files that Bun has read. */
export function givenNames(): { inFiles: string[]; inEnvironment: string[] } {
  const inEnvironment = Object.keys(process.env)
  return { inEnvironment, inFiles: namesInFiles().filter((name) => inEnvironment.includes(name)) }
}

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

/** npm runs a script in the folder of package.json: a path is relative to the folder where npm was called. */
export const calledIn = (path: string): string => resolve(process.env.INIT_CWD ?? '', path)
