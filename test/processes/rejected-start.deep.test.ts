import { execFile } from 'node:child_process'
import { readdir, writeFile } from 'node:fs/promises'
import { createServer } from 'node:net'
import { join } from 'node:path'
import { forFile, freshEnv, listen, mainFile, newFolder, runtimeOptions, spawnService } from '../kit.ts'
import { testSecret } from '../kit.ts'
import { emptyDatabase, run } from './launch.ts'

const { env } = await forFile(freshEnv({ LOG_LEVEL: 'silent' }))
const other = await forFile(listen(createServer()))
const port = String(other.port)
const dataDir = await newFolder('docket taken ')
const local = { HOST: '127.0.0.1', PORT: '0', DATA_DIR: dataDir, LOG_LEVEL: 'warn' }
const { JWT_SECRET: _, REDIS_URL: __, ...incomplete } = { ...env, NODE_ENV: 'production' } as typeof env

const changed = (change: Partial<Record<'password' | 'username' | 'pathname', string>>) => ({
  ...env,
  DATABASE_URL: Object.assign(new URL(env.DATABASE_URL!), change).href,
})
const serving = ['start', 'web', 'worker']
const connecting = [...serving, 'migrate', 'jobs']
const hosts = ['192.0.2.1', 'unknown.invalid', 'localhost:3000', 'http://localhost', 'fe80::1']

/** Commands that end at once with code 1 and one line. `test/unit` tests each setting. */
const rejections: [commands: string[], line: RegExp, env: Record<string, string>][] = [
  [[...serving, 'migrate'], /^PORT must be /, { ...env, PORT: 'http' }],
  [['serve'], /start, web, worker, migrate/, env],
  [serving, /JWT_SECRET must be set .*; REDIS_URL must be set/, incomplete],
  // Before any local server starts.
  [['start'], RegExp(`^PORT ${port} is taken`), { ...local, PORT: port }],
  [['start'], RegExp(`^METRICS_PORT ${port} is taken`), { ...local, METRICS_PORT: port }],
  [['start'], RegExp(`^HOME_PORT ${port} is taken`), { ...local, HOME_PORT: port }],
  [['start'], RegExp(`^PORT ${port} is taken`), { ...local, PORT: port, WEB_CONCURRENCY: '2' }],
  [['web'], RegExp(`^PORT ${port} is taken`), { ...env, PORT: port }],
  [['worker'], RegExp(`^METRICS_PORT ${port} is taken`), { ...env, METRICS_PORT: port }],
  ...[...hosts.map((host) => ['HOST', host]), ['HOME_HOST', hosts[0]!]].map(
    ([name, host]): (typeof rejections)[number] => [
      ['web'],
      RegExp(`PORT \\d+ of ${name} ${RegExp.escape(`"${host}"`)} cannot be opened`),
      { ...env, [name!]: host! },
    ],
  ),
  [connecting, /DATABASE_URL.*password authentication failed/, changed({ password: 'wrong' })],
  [['migrate'], /DATABASE_URL.*password authentication failed/, changed({ username: 'nobody' })],
  [['migrate'], /DATABASE_URL.*database "nowhere" does not exist/, changed({ pathname: 'nowhere' })],
]

test.each(rejections)('%p rejects its settings in one line: %p', async (commands, line, given) => {
  for (const { code, output } of await Promise.all(commands.map((command) => run(command, given)))) {
    expect({ code, lines: output.trim().split('\n') }).toEqual({
      code: 1,
      lines: [expect.stringMatching(line)],
    })
    expect(output).not.toMatch(/node_modules| at .*:\d+|^\d+ \|/m)
    expect(output).not.toContain('wrong')
  }
  expect(await readdir(dataDir)).toEqual([])
})

test('migrate needs neither secret nor Redis, and production serves with both', async () => {
  expect(await run('migrate', incomplete)).toEqual({ code: 0, output: '' })
  const web = await spawnService('web', { ...env, NODE_ENV: 'production', JWT_SECRET: testSecret })
  expect(await web.stop()).toBe(0)
})

const dir = await newFolder()

test.each(['worker', 'migrate'])('%s warns of wrong names in .env', async (command) => {
  const database = await emptyDatabase()
  const names = 'PORT=70000\nWRITE_TIMEOUT=2\nWRITE_SHARD=2\nLOG_LEVEL=warn\n'
  await writeFile(join(dir, '.env'), `${names}DATABASE_URL=${database.url}`)
  const own = { PATH: process.env.PATH, REDIS_URL: process.env.TEST_REDIS_URL, PORT: '0', HOST: '127.0.0.1' }
  const options = { cwd: dir, env: own, stdout: 'pipe', stderr: 'inherit' } as const
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

// The environment takes precedence over .env, and services that tests start do not read .env.
test.each<[string, error: string, env: object, options: string[]]>([
  ['admin', 'PORT must be a whole number', {}, []],
  ['jobs', 'PORT must be a whole number', {}, []],
  ['web', 'LOG_LEVEL must be', { PORT: '3000' }, []],
  ['web', 'LOG_LEVEL must be', {}, runtimeOptions],
])('with a wrong PORT in .env, %s reports: %s', async (command, error, own, options) => {
  await writeFile(join(dir, '.env'), 'PORT=70000\n')
  const given = { cwd: dir, env: { PATH: process.env.PATH, LOG_LEVEL: 'loud', ...own } }
  const output = await new Promise<string>((resolve) =>
    execFile(process.execPath, [...options, mainFile, command], given, (_, __, stderr) => resolve(stderr)),
  )
  expect(output).toStartWith(error)
})
