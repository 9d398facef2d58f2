import { expect, test } from 'bun:test'
import { execFile } from 'node:child_process'
import { promisify } from 'node:util'
import { freshEnv, forFile, newFolder } from '../support/service.ts'
import { copyTree, newCommand, newField } from './newcomer.ts'
import { read } from './source.ts'

const run = promisify(execFile)
const fresh = await forFile(freshEnv())
const folder = await newFolder()

async function inCopy(...words: string[]): Promise<string> {
  const { PATH, HOME } = process.env
  const env = { PATH, HOME, ...fresh.env }
  const { stdout } = await run(process.execPath, words, { cwd: folder, env })
  return stdout
}

const paths = [...new Set([...newField, ...newCommand].map(({ path }) => path))]

test('what is told to be typed is there with Node and npm alone', () => {
  for (const path of ['README.md', 'CONTRIBUTING.md']) expect(read(path).text).not.toContain('bunx')
})

test('CONTRIBUTING says how to add a field or a command, and touches one module and its table', () => {
  const { text } = read('CONTRIBUTING.md')
  const told = text.slice(text.indexOf('To add a field to a task'), text.indexOf('## A new entity'))
  expect(paths.filter((path) => !told.includes(path))).toEqual([])
  expect(paths.filter((path) => !/^(modules\/tasks\/|drizzle\/schema\/tasks\.ts$)/.test(path))).toEqual([])
})

test('a field and a command that a newcomer adds so are taken, stored, shown and documented', async () => {
  await copyTree(folder, [...newField, ...newCommand])
  const [generate] = /drizzle-kit generate .+/.exec(read('CONTRIBUTING.md').text)!
  await inCopy('node_modules/drizzle-kit/bin.cjs', ...generate.split(' ').slice(1))
  await inCopy('check', '--no-script', 'src', 'modules', 'workers', 'drizzle')
  const told = JSON.parse(await inCopy('test/architecture/newcomer-smoke.ts'))
  const message = 'estimateMinutes must be a whole number of minutes, or null'
  expect(told).toEqual({
    made: ['null'],
    refused: { statusCode: 400, message, error: 'Bad Request' },
    changed: ['45'],
    listed: ['45', 'null'],
    finished: [200, 'DONE', 'DONE', ['45']],
    stored: [{ estimateMinutes: 45 }],
    logged: [90, 45, 45],
    documented: [true, true],
  })
})
