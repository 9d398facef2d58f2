import { readdir, symlink, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { execute } from '../cli/process.ts'
import { forFile, freePort, freshEnv, newFolder, root, spawnService } from '../kit.ts'
import { type Block, blocksOf, difference } from './page.ts'

const mark = '\u001e'
/** The ports that appear on the pages: of the service, and of a webhook receiver that a block starts. */
const shownPorts = [3000, 8088]

async function openService() {
  const { env } = await forFile(freshEnv())
  return { env, service: await forFile(spawnService('start', env, [], join(root, 'src/main.ts'))) }
}

interface Options {
  /** Commands that run before the first block. */
  first?: string
  needsEmptyDatabase?: boolean
}

/**
 * Returns a function that runs the shell blocks of a page in one shell, and describes the blocks whose output differs from
 * the output that the page shows. All pages of a test file use one service, except a page that needs an empty database.
 */
export async function openPages() {
  const shared = await openService()
  return async (
    page: string,
    { first = '', needsEmptyDatabase = false }: Options = {},
  ): Promise<string[]> => {
    const blocks = blocksOf(page)
    const shells = blocks.filter(({ language }) => language === 'sh')
    const printed = await runPage(first, blocks, needsEmptyDatabase ? await openService() : shared)
    expect(printed).toHaveLength(shells.length)
    return shells.flatMap(({ line, output = '' }, n) => {
      const found = difference(printed[n]!, output)
      return found ? [`${page}:${line} ${found}`] : []
    })
  }
}

type Opened = Awaited<ReturnType<typeof openService>>

async function runPage(first: string, blocks: Block[], { env, service }: Opened): Promise<string[]> {
  const folder = await checkout()
  const ports = [Number(new URL(service.url).port), await freePort()]
  const withOwnPorts = (text: string) => replacePorts(text, shownPorts, ports)
  for (const { language, text } of blocks)
    if (language === 'js') await writeFile(join(folder, fileName(text)), withOwnPorts(text))
  const parts = blocks.filter(({ language }) => language === 'sh').map(({ text }) => withOwnPorts(text))
  const script = parts.map((part) => `${part}\nprintf '${mark}'\n`).join('')
  await writeFile(join(folder, 'page.sh'), `exec 2>&1\n${first}\n${script}`)
  const own = { ...env, HOME: process.env.HOME!, api: `${service.url}/api/v1` }
  const { out } = await execute(['sh', 'page.sh'], { cwd: folder, env: own })
  return replacePorts(out, ports, shownPorts).split(mark).slice(0, -1)
}

const fileName = (text: string) => /^\/\/ ([\w-]+\.mjs)\n/.exec(text)![1]!

const replacePorts = (text: string, from: number[], to: number[]) =>
  from.reduce((rest, port, n) => rest.replace(new RegExp(`(?<=[:(])${port}\\b`, 'g'), String(to[n])), text)

async function checkout(): Promise<string> {
  const folder = await newFolder('docket-docs-')
  for (const name of await readdir(root))
    if (!name.startsWith('.')) await symlink(join(root, name), join(folder, name))
  return folder
}
