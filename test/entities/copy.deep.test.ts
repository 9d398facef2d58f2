import { execFile } from 'node:child_process'
import { promisify } from 'node:util'
import { forFile, freshEnv, newFolder, read } from '../kit.ts'
import { copyProject, fieldsAndCommand, tag, workLog } from './edits.ts'

const run = promisify(execFile)
const { env } = await forFile(freshEnv())
const folder = await newFolder('docket-entities-')
const guide = read('CONTRIBUTING.md').text

test('a copy of the project with a new field, a new command and two new entities type-checks, migrates and passes its tests', async () => {
  const inCopy = (...args: string[]) =>
    run(process.execPath, args, { cwd: folder, env: { ...process.env, ...env } })
  await copyProject(folder, fieldsAndCommand, tag, workLog)
  const [generate] = /drizzle-kit generate .+/.exec(guide)!
  await inCopy('node_modules/drizzle-kit/bin.cjs', ...generate.split(' ').slice(1))
  await inCopy('clients/typescript/scripts/generate-types.ts')
  const checked = 'src modules workers drizzle clients/typescript/src clients/cli/src'
  await inCopy('check', '--no-script', ...checked.split(' '))
  for (const suite of ['lifecycle', 'references', 'derived', 'every-kind'])
    await inCopy('test', '--no-env-file', '--timeout=120000', `./test/entities/${suite}.ts`)
}, 300_000)
