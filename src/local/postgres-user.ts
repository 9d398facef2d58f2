import { stat } from 'node:fs/promises'
import { dirname } from 'node:path'
import type { User } from './owner.ts'
import { run } from './process.ts'

export type RunAs = { prefix: string[] } & Partial<User>

/** The user that owns and runs the cluster; undefined for this user. Root may not run Postgres. */
export async function serverUser(clusterDir: string): Promise<User | undefined> {
  if (process.getuid?.() !== 0) return undefined
  const owner = await stat(clusterDir).catch(() => stat(dirname(clusterDir)))
  if (owner.uid !== 0) return { uid: owner.uid, gid: owner.gid }
  for (const name of ['postgres', 'nobody']) {
    const ids = await Promise.all([run('id', ['-u', name]), run('id', ['-g', name])]).catch(() => undefined)
    if (ids) return { uid: Number(ids[0].stdout), gid: Number(ids[1].stdout) }
  }
  throw new Error(
    'Postgres does not run as root, and there is no user "postgres" or "nobody" to run it. ' +
      'Start Docket as an ordinary user, or set DATABASE_URL to a Postgres that runs already.',
  )
}

/** The first way in which `user` can run Postgres on `dir`. */
export async function wayIn(user: User | undefined, dir: string, initdb: string): Promise<RunAs> {
  let reason = ''
  for (const way of user ? ways(user) : [{ prefix: [] }]) {
    const failure = await attempt(way, dir, initdb)
    if (failure === undefined) return way
    reason ||= failure
  }
  throw new Error(await explain(user, dir, initdb, reason))
}

// A checkout below /root is closed to other users, so the server gets the capability to pass closed folders. Containers
// often withhold the first, narrower one; the secure bit makes either count in access(2).
function ways(user: User): RunAs[] {
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

async function attempt(way: RunAs, dir: string, initdb: string): Promise<string | undefined> {
  // `--show` looks for everything a server needs, and changes nothing.
  const script = 'test -w "$0" && exec "$1" --show --pgdata="$0"'
  const [program = '', ...args] = [...way.prefix, '/bin/sh', '-c', script, dir, initdb]
  const options = { uid: way.uid, gid: way.gid, cwd: '/' }
  const failed = run(program, args, options).then(() => undefined)
  return failed.catch(({ message }: Error) => message)
}

async function explain(user: User | undefined, dir: string, initdb: string, reason: string): Promise<string> {
  const owner = (await stat(dir)).uid
  if (!user && owner !== process.getuid?.())
    return `${dir} belongs to another user (uid ${owner}). Start Docket as that user, or set DATA_DIR.`
  const closed = user && ((await closedParent(dir)) ?? (await closedParent(initdb)))
  if (!closed) return `The embedded Postgres does not run here; set DATABASE_URL to one that does. ${reason}`
  return (
    `Postgres does not run as root, and the user it runs as (uid ${user.uid}) may not enter ${closed}. ` +
    `Allow it with "chmod o+x ${closed}", move the project or DATA_DIR elsewhere, or set DATABASE_URL.`
  )
}

async function closedParent(path: string): Promise<string | undefined> {
  const parent = dirname(path)
  const above = parent === path ? undefined : await closedParent(parent)
  return above ?? (((await stat(parent)).mode & 0o001) === 0 ? parent : undefined)
}
