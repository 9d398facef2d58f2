import { symlink } from 'node:fs/promises'
import { join } from 'node:path'
import { commands } from '../../clients/cli/src/commands.ts'
import { newFolder, read } from '../kit.ts'
import { blocksOf, difference } from '../docs/page.ts'
import { openPages } from '../docs/shell.ts'
import { bundled } from './process.ts'

const page = 'clients/cli/README.md'
const runPage = await openPages()

test('every shell block of the README prints the output that the page shows', async () => {
  const folder = await newFolder()
  await symlink(await bundled(), join(folder, 'docket'))
  const first = `. docs/sign-in.sh; PATH="${folder}:$PATH" HOME="${folder}"; unset XDG_CONFIG_HOME; export HOME PATH\n`
  const blocks = blocksOf(page)
  const shells = blocks.filter(({ language }) => language === 'sh')
  const printed = await runPage('sh', [{ language: 'sh', text: first, line: 0 }, ...blocks])
  expect(printed).toHaveLength(shells.length + 1)
  const wrong = shells.flatMap(({ line, output = '' }, n) => {
    const found = difference(printed[n + 1]!, output)
    return found ? [`${page}:${line} ${found}`] : []
  })
  expect(wrong).toEqual([])
})

test('the README names every command', () => {
  const { text } = read(page)
  expect(commands.filter(({ name }) => !text.includes(`docket ${name}`))).toEqual([])
})
