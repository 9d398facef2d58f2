import { expect, test } from 'bun:test'
import { execFile } from 'node:child_process'
import { copyFile, mkdir } from 'node:fs/promises'
import { join } from 'node:path'
import { gunzipSync } from 'node:zlib'
import { make, openClient, register } from '../support/client.ts'
import { newFolder, freshEnv, mainFile, runtimeOptions, spawnService } from '../support/service.ts'
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

test('admin backup - writes only the backup to standard output', async () => {
  const { env, drop } = await freshEnv()
  const words = [...runtimeOptions, mainFile, 'admin', 'backup', '-']
  const output = await new Promise<Buffer>((resolve, reject) =>
    execFile(process.execPath, words, { env, encoding: 'buffer' }, (error, stdout) =>
      error ? reject(error) : resolve(stdout),
    ),
  )
  expect(gunzipSync(output).toString()).toMatch(/^-- docket backup 1, .*\n-- end of the docket backup\n$/s)
  const full = await run('admin', env, 'restore', 'none')
  expect(full).toEqual({ code: 1, output: expect.stringContaining('none cannot be opened') })
  await drop()
})
