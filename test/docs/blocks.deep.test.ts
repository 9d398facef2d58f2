import { blocksOf, difference, pages } from './page.ts'
import { openPages } from './shell.ts'

const runPage = await openPages()
const isRun = (language: string) => language === 'sh'

for (const page of pages().filter((path) => blocksOf(path).some(({ language }) => isRun(language))))
  test(`${page}: every block prints the output that the page shows`, async () => {
    const blocks = blocksOf(page)
    const printed = await runPage('sh', blocks, page === 'docs/operations.md')
    const shells = blocks.filter(({ language }) => isRun(language))
    expect(printed).toHaveLength(shells.length)
    const wrong = shells.flatMap(({ line, output = '' }, n) => {
      const found = difference(printed[n]!, output)
      return found ? [`${page}:${line} ${found}`] : []
    })
    expect(wrong).toEqual([])
  }, 90_000)
