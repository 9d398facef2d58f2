import { spawn } from 'node:child_process'
import { readdir, symlink, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { forFile, freePort, freshEnv, newFolder, root, spawnService } from '../kit.ts'
import type { Block } from './page.ts'

const mark = '\u001e'
/** The ports that appear on the pages: of the service, and of a webhook receiver that a block starts. */
const shownPorts = [3000, 8088]
const timeoutMs = 110_000

async function openService() {
  const { env } = await forFile(freshEnv())
  return { env, service: await forFile(spawnService('start', env)) }
}

/**
 * Returns a function that runs the shell blocks of a page in one shell, and returns the output of each block. All pages
 * of a test file use one service, except a page that needs an empty database.
 */
export async function openPages() {
  const shared = await openService()
  return async (shell: string, blocks: Block[], needsEmpty = false): Promise<string[]> =>
    runPage(shell, blocks, needsEmpty ? await openService() : shared)
}

type Opened = Awaited<ReturnType<typeof openService>>

async function runPage(shell: string, blocks: Block[], { env, service }: Opened): Promise<string[]> {
  const folder = await checkout()
  const ports = [Number(new URL(service.url).port), await freePort()]
  const withOwnPorts = (text: string) => replacePorts(text, shownPorts, ports)
  for (const { language, text } of blocks)
    if (language === 'js') await writeFile(join(folder, fileName(text)), withOwnPorts(text))
  const parts = blocks.filter(({ language }) => language === 'sh').map(({ text }) => withOwnPorts(text))
  const script = parts.map((part) => `${part}\nprintf '${mark}'\n`).join('')
  await writeFile(join(folder, 'page.sh'), script)
  const printed = await run(shell, folder, { ...env, api: `${service.url}/api/v1` })
  return replacePorts(printed, ports, shownPorts).split(mark).slice(0, -1)
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

function run(shell: string, cwd: string, env: Record<string, string>): Promise<string> {
  const { PATH, HOME } = process.env
  const child = spawn(shell, ['page.sh'], {
    cwd,
    env: { PATH, HOME, ...env },
    timeout: timeoutMs,
    detached: true,
  })
  let printed = ''
  for (const stream of [child.stdout, child.stderr]) stream.on('data', (piece) => (printed += piece))
  return new Promise((resolve, reject) => {
    child.on('error', reject)
    child.on('exit', () => killGroup(child.pid!))
    child.on('close', () => resolve(printed))
  })
}

function killGroup(pid: number): void {
  try {
    process.kill(-pid, 'SIGKILL')
  } catch {
    // All processes have ended.
  }
}
