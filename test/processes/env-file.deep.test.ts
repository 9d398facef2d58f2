import { execFile } from 'node:child_process'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { mainFile, newFolder, runtimeOptions } from '../kit.ts'
import { emptyDatabase } from './launch.ts'

const dir = await newFolder()

test.each(['start', 'web', 'worker', 'migrate'])('%s warns of wrong names in .env', async (command) => {
  const database = await emptyDatabase()
  const names = 'PORT=70000\nWRITE_TIMEOUT=2\nWRITE_SHARD=2\nLOG_LEVEL=warn\n'
  await writeFile(join(dir, '.env'), `${names}DATABASE_URL=${database.url}`)
  const env = { PATH: process.env.PATH, REDIS_URL: process.env.TEST_REDIS_URL, PORT: '0', HOST: '127.0.0.1' }
  const options = { cwd: dir, env, stdout: 'pipe', stderr: 'inherit' } as const
  const child = Bun.spawn([process.execPath, mainFile, command], options)
  let output = ''
  for await (const chunk of child.stdout) {
    output += new TextDecoder().decode(chunk)
    if (output.split('\n').length > 2) child.kill()
  }
  await child.exited
  const warnings = output.split('\n').slice(0, 2)
  expect(warnings.map((line) => JSON.parse(line))).toMatchObject([
    { level: 40, variable: 'WRITE_TIMEOUT', msg: 'unknown setting; did you mean WRITE_TIMEOUT_MS?' },
    { level: 40, variable: 'WRITE_SHARD', msg: 'unknown setting; did you mean WRITE_SHARDS?' },
  ])
  await database.drop()
})

await writeFile(join(dir, '.env'), 'PORT=70000\n')

const errorOf = (command: string, env = {}, options: string[] = []) =>
  new Promise<string>((resolve) => {
    const given = { cwd: dir, env: { PATH: process.env.PATH, LOG_LEVEL: 'loud', ...env } }
    execFile(process.execPath, [...options, mainFile, command], given, (_, __, stderr) => resolve(stderr))
  })

test.each(['admin', 'jobs'])('%s reads .env', async (command) => {
  expect(await errorOf(command)).toStartWith('PORT must be a whole number')
})

test('the environment takes precedence over .env', async () => {
  expect(await errorOf('web', { PORT: '3000' })).toStartWith('LOG_LEVEL must be')
})

test('services that tests start do not read .env', async () => {
  expect(await errorOf('web', {}, runtimeOptions)).toStartWith('LOG_LEVEL must be')
})
