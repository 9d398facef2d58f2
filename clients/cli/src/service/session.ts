import { chmod, mkdir, readFile, rename, rm, writeFile } from 'node:fs/promises'
import { homedir } from 'node:os'
import { isAbsolute, join } from 'node:path'
import { exitCodes, Failure, usageError } from '../failure.ts'

type Env = Record<string, string | undefined>

/** The content of the file that `docket login` writes. */
export interface Stored {
  url?: string
  token?: string
  /** The id of the default project. */
  project?: string
}

export interface Session {
  url: string
  token: string
}

/** Returns the folder of the file. Ignores a relative XDG_CONFIG_HOME, as its specification requires. */
function folderOf({ XDG_CONFIG_HOME, HOME }: Env): string {
  const base = XDG_CONFIG_HOME && isAbsolute(XDG_CONFIG_HOME) ? XDG_CONFIG_HOME : undefined
  return join(base ?? join(HOME || homedir(), '.config'), 'docket')
}

const fileOf = (env: Env) => join(folderOf(env), 'config.json')

export async function readStored(env: Env): Promise<Stored> {
  const text = await readFile(fileOf(env), 'utf8').catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT' || error.code === 'ENOTDIR') return '{}'
    throw error
  })
  const stored = parsed(text)
  if (stored) return stored
  throw new Failure(`${fileOf(env)} is not a file of docket: delete it, then run docket login`)
}

function parsed(text: string): Stored | undefined {
  try {
    const value: unknown = JSON.parse(text)
    const isObject = typeof value === 'object' && value !== null && !Array.isArray(value)
    return isObject && Object.values(value).every((one) => typeof one === 'string') ? value : undefined
  } catch {
    return undefined
  }
}

/** Replaces the file in one step, and returns its path. Only the user may read the file and its folder. */
export async function writeStored(env: Env, stored: Stored): Promise<string> {
  const [folder, file] = [folderOf(env), fileOf(env)]
  await mkdir(folder, { recursive: true, mode: 0o700 })
  await chmod(folder, 0o700)
  const draft = `${file}.${process.pid}`
  await rm(draft, { force: true })
  await writeFile(draft, `${JSON.stringify(stored, null, 2)}\n`, { mode: 0o600, flag: 'wx' })
  await rename(draft, file)
  return file
}

/**
 * Returns the address and the token. DOCKET_URL and DOCKET_TOKEN take precedence over the file. The stored token is
 * used only for the stored address.
 * @throws Failure 4 if the user is not signed in
 */
export async function readSession(env: Env): Promise<Session> {
  const stored = await readStored(env)
  const url = env.DOCKET_URL ? originOf(env.DOCKET_URL, 'DOCKET_URL') : stored.url
  const token = env.DOCKET_TOKEN || (url === stored.url ? stored.token : undefined)
  if (url && token) return { url, token }
  const missing = url ? 'DOCKET_TOKEN' : 'DOCKET_URL'
  throw new Failure(`Not signed in: run docket login, or set ${missing}`, exitCodes.notAllowed)
}

/** Returns the address without a final slash and without /api/v1. @throws Failure 2 if it is not an HTTP address */
export function originOf(text: string, name: string): string {
  const url = URL.canParse(text) ? new URL(text) : undefined
  if (!url || !/^https?:$/.test(url.protocol) || url.username)
    throw usageError(`${name} must be an address like https://docket.example.com`)
  return `${url.origin}${url.pathname.replace(/\/+$/, '').replace(/\/api\/v1$/, '')}`
}
