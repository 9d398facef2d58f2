import { randomBytes } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { link, mkdir, readFile, unlink, writeFile } from 'node:fs/promises'
import { join, resolve } from 'node:path'
import { parseEnv } from 'node:util'

export const localSecret = (dataDir: string): Promise<string> =>
  readOrCreate(join(dataDir, 'jwt-secret'), () => randomBytes(48).toString('base64url'))

export async function readOrCreate(path: string, create: () => string): Promise<string> {
  await mkdir(join(path, '..'), { recursive: true })
  const existing = await readFile(path, 'utf8').catch((error: NodeJS.ErrnoException) => {
    if (error.code !== 'ENOENT') throw error
  })
  if (existing) return existing
  // The file gets its final name when it is complete, so that a concurrent process never reads half a secret.
  const draft = `${path}.${randomBytes(6).toString('hex')}`
  await writeFile(draft, create(), { mode: 0o600, flag: 'wx' })
  await link(draft, path).catch((error: NodeJS.ErrnoException) => {
    if (error.code !== 'EEXIST') throw error
  })
  await unlink(draft)
  return readFile(path, 'utf8')
}

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
