import { expect, test } from 'bun:test'
import { execFile } from 'node:child_process'
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { promisify } from 'node:util'
import { copyTree } from '../architecture/newcomer.ts'
import { read } from '../architecture/source.ts'
import { freshEnv } from '../support/service.ts'
import { attachmentEdits, attachmentFiles } from './attachment.ts'
import { tagEdits, tagFiles } from './tag.ts'

const run = promisify(execFile)

test('a new child of a task, and an entity that tasks refer to, take six files and four lines each', async () => {
  // Each has a migration too.
  for (const files of [attachmentFiles, tagFiles])
    expect(Object.keys(files).length + 1).toBeLessThanOrEqual(6)
  for (const edits of [attachmentEdits, tagEdits]) expect(edits.length).toBeLessThanOrEqual(4)
  const fresh = await freshEnv()
  const folder = await mkdtemp(join(tmpdir(), 'docket-entities-'))
  const inCopy = (...words: string[]) =>
    run(process.execPath, words, { cwd: folder, env: { ...process.env, ...fresh.env } })
  await copyTree(folder, [...attachmentEdits, ...tagEdits])
  for (const [path, text] of Object.entries({ ...attachmentFiles, ...tagFiles })) {
    await mkdir(dirname(join(folder, path)), { recursive: true })
    await writeFile(join(folder, path), text)
  }
  const [generate] = /drizzle-kit generate .+/.exec(read('CONTRIBUTING.md').text)!
  await inCopy('node_modules/drizzle-kit/bin.cjs', ...generate.split(' ').slice(1))
  await inCopy('check', '--no-script', 'src', 'modules', 'workers', 'drizzle')
  for (const suite of ['lifecycle', 'references'])
    await inCopy('test', '--no-env-file', `./test/entities/${suite}.ts`)
  await rm(folder, { recursive: true })
  await fresh.drop()
}, 300_000)
