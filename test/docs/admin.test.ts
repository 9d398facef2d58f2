import { expect, test } from 'bun:test'
import { parseAdmin } from '../../workers/admin/admin.ts'
import { read } from '../architecture/source.ts'

test('the operations page lists every admin command', () => {
  const { text: help } = parseAdmin(['help']) as { text: string }
  const commands = [...help.matchAll(/^ {2}(\S+(?: \S+)*)/gm)].map(([, command]) => command!)
  const page = read('docs/operations.md').text.replaceAll('\\|', '|')
  expect(commands.length).toBeGreaterThan(10)
  expect(commands.filter((command) => !page.includes(`\`${command}\``))).toEqual([])
})
