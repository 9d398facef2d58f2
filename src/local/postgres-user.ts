import { stat } from 'node:fs/promises'
import { dirname } from 'node:path'
import type { User } from './owner.ts'
import { run } from './process.ts'

export type RunAs = { prefix: string[] } & Partial<User>

export async function serverUser(clusterDir: string): Promise<User | undefined> {
  if (process.getuid?.() !== 0) return undefined
  const owner = await stat(clusterDir).catch(() => stat(dirname(clusterDir)))
  if (owner.uid !== 0) return { uid: owner.uid, gid: owner.gid }
  for (const name of ['postgres', 'nobody']) {
    const ids = await Promise.all([run('id', ['-u', name]), run('id', ['-g', name])]).catch(() => undefined)
    if (ids) return { uid: Number(ids[0].stdout), gid: Number(ids[1].stdout) }
  }
  throw new Error(
    'Postgres cannot run as root, and there is no user "postgres" or "nobody". ' +
      'Start Docket as an ordinary user, or set DATABASE_URL to a running Postgres.',
  )
}

/** Tries several ways to run the server, and returns the first that works. @throws Error with advice if every way fails */
export async function findRunAs(user: User | undefined, dir: string, initdb: string): Promise<RunAs> {
  let reason = ''
  for (const option of user ? runAsOptions(user) : [{ prefix: [] }]) {
    const failure = await attempt(option, dir, initdb)
    if (failure === undefined) return option
    reason ||= failure
  }
  throw new Error(await explain(user, dir, initdb, reason))
}

// Only root may enter /root, so a server with its files there needs a capability: `dac_read_search`, or `dac_override`
// (which allows more) in containers without `dac_read_search`. With the secure bit, access(2) respects the capability.
function runAsOptions(user: User): RunAs[] {
  const passing = ['dac_read_search', 'dac_override'].map((capability) => {
    const ids = [
      `--reuid=${user.uid}`,
      `--regid=${user.gid}`,
      '--clear-groups',
      '--securebits=+no_setuid_fixup',
    ]
    return { prefix: ['setpriv', ...ids, `--inh-caps=+${capability}`, `--ambient-caps=+${capability}`] }
  })
  return [{ prefix: [], ...user }, ...passing]
}

async function attempt(option: RunAs, dir: string, initdb: string): Promise<string | undefined> {
  // `initdb --show` checks everything that the server needs, and changes nothing.
  const script = 'test -w "$0" && exec "$1" --show --pgdata="$0"'
  const [program = '', ...args] = [...option.prefix, '/bin/sh', '-c', script, dir, initdb]
  const options = { uid: option.uid, gid: option.gid, cwd: '/' }
  const failure = run(program, args, options).then(() => undefined)
  return failure.catch(({ message }: Error) => message)
}

async function explain(user: User | undefined, dir: string, initdb: string, reason: string): Promise<string> {
  const owner = (await stat(dir)).uid
  if (!user && owner !== process.getuid?.())
    return `${dir} belongs to another user (uid ${owner}). Start Docket as that user, or set DATA_DIR.`
  const closed = user && ((await closedParent(dir)) ?? (await closedParent(initdb)))
  if (!closed)
    return `The embedded Postgres cannot run here: set DATABASE_URL to a running Postgres. ${reason}`
  return (
    `Postgres cannot run as root, and its user (uid ${user.uid}) may not enter ${closed}. ` +
    `Allow it with "chmod o+x ${closed}", move the project or DATA_DIR elsewhere, or set DATABASE_URL.`
  )
}

async function closedParent(path: string): Promise<string | undefined> {
  const parent = dirname(path)
  const above = parent === path ? undefined : await closedParent(parent)
  return above ?? (((await stat(parent)).mode & 0o001) === 0 ? parent : undefined)
}
