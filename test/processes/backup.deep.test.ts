import { execFile } from 'node:child_process'
import { copyFile, mkdir, stat } from 'node:fs/promises'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { withConnections } from '../../drizzle/migrate.ts'
import { freshEnv, mainFile, make, newFolder, openClient, register, runtimeOptions } from '../kit.ts'
import { spawnService } from '../kit.ts'
import { run } from './launch.ts'

const dir = await newFolder()

test('a backup of the local Postgres, taken while it serves, restores the same data in another folder', async () => {
  const [one, other] = [join(dir, 'one'), join(dir, 'other')]
  const local = { HOST: '127.0.0.1', PORT: '0' }
  const first = await spawnService('start', { ...local, DATA_DIR: one })
  const ada = await register(openClient(first.url))
  const { id: projectId } = await make(ada, '/projects', { name: 'Kept' })
  await make(ada, '/tasks', { title: 'Kept', projectId })
  const paths = ['/projects', `/projects/${projectId}/events`, `/tasks?projectId=${projectId}`]
  const answers = async (url: string) =>
    Promise.all(paths.map(async (path) => (await ada.at(url).get(path)).text))
  const before = await answers(first.url)

  // npm runs the command in the folder of package.json; INIT_CWD is the folder of the user.
  const backup = await run('admin', { DATA_DIR: one, INIT_CWD: dir }, 'backup', 'docket.backup')
  expect(backup).toEqual({
    code: 0,
    output: expect.stringContaining(`${join(dir, 'docket.backup')}. Keep ${join(one, 'jwt-secret')} too`),
  })
  await make(ada, '/tasks', { title: 'Later', projectId })
  const restored = await run('admin', { DATA_DIR: other }, 'restore', join(dir, 'docket.backup'))
  expect(restored).toEqual({ code: 0, output: 'The backup is restored\n' })
  await mkdir(other, { recursive: true })
  await copyFile(join(one, 'jwt-secret'), join(other, 'jwt-secret'))

  const second = await spawnService('start', { ...local, DATA_DIR: other })
  expect(await answers(second.url)).toEqual(before)
  expect([await first.stop(), await second.stop()]).toEqual([0, 0])
})

/** Runs `admin backup` in a shell. */
async function backUp(env: Record<string, string>, shell: (command: string) => string) {
  const words = [process.execPath, ...runtimeOptions, mainFile, 'admin', 'backup']
  const command = shell(words.map((word) => `'${word}'`).join(' '))
  return promisify(execFile)('sh', ['-c', command], { env }).then(
    ({ stdout }) => ({ code: 0, text: stdout }),
    ({ code, stderr }) => ({ code, text: stderr }),
  )
}

test('a backup to standard output is only the backup; a full disk is named, and no file remains', async () => {
  const { env, drop } = await freshEnv()
  await withConnections(
    env.DATABASE_URL!,
    (sql) => sql`
      insert into idempotency_keys (scope, key, fingerprint, status, body)
      select 'scope', g::text, md5(g::text), 201, md5(random()::text) from generate_series(1, 20000) g`,
  )
  const file = join(dir, 'cut.backup')
  // A file may have 64 KiB, as if the rest of the disk was full.
  const cut = await backUp(env, (command) => `ulimit -f 128; trap '' XFSZ; exec ${command} ${file}`)
  expect(cut).toEqual({ code: 1, text: expect.stringContaining(`${file} cannot be written: EFBIG`) })
  await expect(stat(file)).rejects.toThrow('ENOENT')
  const full = await backUp(env, (command) => `exec ${command} - > /dev/full`)
  expect(full).toEqual({
    code: 1,
    text: expect.stringMatching(/^standard output cannot be written: ENOSPC.*Its disk is full/),
  })
  const lines = `{ sleep 1; gunzip | sed -n '1p;$p'; }`
  const slow = await backUp(env, (command) => `${command} - | ${lines}`)
  expect(slow).toEqual({
    code: 0,
    text: expect.stringMatching(/^-- docket backup 1, .*\n-- end of the docket backup\n$/),
  })
  await drop()
})
