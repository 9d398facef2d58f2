import { expect, test } from 'bun:test'
import { execFile } from 'node:child_process'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { newFolder, runtimeOptions } from '../support/service.ts'

const commands = ['start', 'web', 'worker', 'migrate', 'admin', 'jobs']
const main = new URL('../../src/main.ts', import.meta.url).pathname
const dir = await newFolder()
await writeFile(join(dir, '.env'), 'PORT=70000\n')

/** What a command that starts in the folder with the `.env` complains about. */
const complaint = (command: string, env = {}, options: string[] = []) =>
  new Promise<string>((resolve) => {
    const given = { cwd: dir, env: { PATH: process.env.PATH, LOG_LEVEL: 'loud', ...env } }
    execFile(process.execPath, [...options, main, command], given, (_, __, said) => resolve(said))
  })

test.each(commands)('%s reads .env', async (command) => {
  expect(await complaint(command)).toStartWith('PORT must be a whole number')
})

test('the environment comes before it', async () => {
  expect(await complaint('web', { PORT: '3000' })).toStartWith('LOG_LEVEL must be')
})

test('what a test starts does not read it', async () => {
  expect(await complaint('web', {}, runtimeOptions)).toStartWith('LOG_LEVEL must be')
})
