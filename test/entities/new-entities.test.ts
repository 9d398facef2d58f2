import { expect, test } from 'bun:test'
import { execFile } from 'node:child_process'
import { promisify } from 'node:util'
import { read } from '../architecture/source.ts'
import { forFile, freshEnv, newFolder } from '../support/service.ts'
import { attachment } from './attachment.ts'
import { copyTree, fieldAndCommand } from './edits.ts'
import { tag } from './tag.ts'

const run = promisify(execFile)
const { env } = await forFile(freshEnv())
const folder = await newFolder('docket-entities-')
const guide = read('CONTRIBUTING.md').text

test('README and CONTRIBUTING need no commands except node and npm', () => {
  for (const path of ['README.md', 'CONTRIBUTING.md']) expect(read(path).text).not.toContain('bunx')
})

test('CONTRIBUTING names every file that must change to add a field or a command to tasks', () => {
  const section = guide.slice(guide.indexOf('To add a field to a task'), guide.indexOf('## A new entity'))
  const paths = fieldAndCommand.map(({ path }) => path)
  expect(paths.filter((path) => !section.includes(path))).toEqual([])
  expect(paths.filter((path) => !/^(modules\/tasks\/|drizzle\/schema\/tasks\.ts$)/.test(path))).toEqual([])
})

test('a new child entity of tasks and a new entity that tasks refer to each need at most six files and four edits', () => {
  for (const { files, edits } of [attachment, tag]) {
    const migrations = 1
    expect(Object.keys(files).length + migrations).toBeLessThanOrEqual(6)
    expect(edits.length).toBeLessThanOrEqual(4)
  }
})

test('a copy of the project with a new field, a new command and two new entities type-checks, migrates and passes its tests', async () => {
  const inCopy = (...args: string[]) =>
    run(process.execPath, args, { cwd: folder, env: { ...process.env, ...env } })
  const edits = [...fieldAndCommand, ...attachment.edits, ...tag.edits]
  await copyTree(folder, { ...attachment.files, ...tag.files }, edits)
  const [generate] = /drizzle-kit generate .+/.exec(guide)!
  await inCopy('node_modules/drizzle-kit/bin.cjs', ...generate.split(' ').slice(1))
  await inCopy('check', '--no-script', 'src', 'modules', 'workers', 'drizzle')
  for (const suite of ['field-and-command', 'lifecycle', 'references'])
    await inCopy('test', '--no-env-file', `./test/entities/${suite}.ts`)
}, 300_000)
