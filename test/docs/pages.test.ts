import { existsSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { read, root } from '../kit.ts'
import { pages } from './page.ts'
import { execute } from '../workers/run-admin.ts'

test('every link of a page has an existing target', () => {
  const broken = pages().flatMap((page) =>
    linksOf(page)
      .filter((link) => !targetExists(page, link))
      .map((link) => `${page}: ${link}`),
  )
  expect(broken).toEqual([])
})

const linksOf = (page: string) =>
  [...read(page).text.matchAll(/\]\(([^)\s]+)\)/g)]
    .map(([, link]) => link!)
    .filter((link) => !/^https?:/.test(link))

function targetExists(page: string, link: string): boolean {
  const [path = '', anchor] = link.split('#')
  const target = path ? join(dirname(page), path) : page
  if (!existsSync(join(root, target))) return false
  return !anchor || headingsOf(target).includes(anchor)
}

/** Returns the anchors that GitHub generates from the headings. */
const headingsOf = (page: string) =>
  [...read(page).text.matchAll(/^#+ (.+)$/gm)].map(([, title]) =>
    title!
      .toLowerCase()
      .replace(/[^\w\- ]/g, '')
      .replaceAll(' ', '-'),
  )

test('a page names only paths of the project that exist', () => {
  const top = /`((?:src|modules|workers|drizzle|test|docs|ops|bench|clients)\/[\w./-]+)`/g
  const named = [...pages(), 'CONTRIBUTING.md'].flatMap((page) =>
    [...read(page).text.matchAll(top)].map(([, path]) => ({ page, path: path! })),
  )
  expect(named.length).toBeGreaterThan(20)
  expect(named.filter(({ path }) => !existsSync(join(root, path)))).toEqual([])
})

test('the operations page lists every admin command', async () => {
  const { text: help } = await execute(['help'], {} as never)
  const commands = [...help.matchAll(/^ {2}(\S+(?: \S+)*)/gm)].map(([, command]) => command!)
  const page = read('docs/operations.md').text.replaceAll('\\|', '|')
  expect(commands.length).toBeGreaterThan(10)
  expect(commands.filter((command) => !page.includes(`\`${command}\``))).toEqual([])
})
