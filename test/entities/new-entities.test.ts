import { expect, test } from 'bun:test'
import { read } from '../architecture/source.ts'
import { attachment } from './attachment.ts'
import { fieldAndCommand } from './edits.ts'
import { link } from './link.ts'
import { tag } from './tag.ts'

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
  for (const { files, edits } of [attachment, tag, link]) {
    const migrations = 1
    expect(Object.keys(files).length + migrations).toBeLessThanOrEqual(6)
    expect(edits.length).toBeLessThanOrEqual(4)
  }
})
