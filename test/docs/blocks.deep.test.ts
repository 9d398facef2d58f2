import { blocksOf, pages } from './page.ts'
import { openPages } from './shell.ts'

const runPage = await openPages()
const withShell = pages().filter((path) => blocksOf(path).some(({ language }) => language === 'sh'))

test.each(withShell)(
  '%s: every block prints the output that the page shows',
  async (page) => {
    expect(await runPage(page, { needsEmptyDatabase: page === 'docs/operations.md' })).toEqual([])
  },
  300_000,
)
