import { execFile } from 'node:child_process'
import { chmod, copyFile, mkdir, readdir, readFile, rm, symlink, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import packageJson from '../../package.json' with { type: 'json' }
import { newFolder, openForEach, upTo } from '../kit.ts'

const pinned = packageJson.devDependencies.bun
const installed = `npx --yes bun@${pinned} install --frozen-lockfile --no-progress --no-summary`

// A fake install, which creates a Bun that records its calls.
const installing = `mkdir -p node_modules/.bin
printf '#!/bin/sh\\necho "pinned $*" >>calls\\n' >node_modules/.bin/bun
chmod +x node_modules/.bin/bun`
const slowly = `echo "npx $*" >>calls\nsleep 0.5\n${installing}`

const forEach = openForEach()
let dir: string
const write = (name: string, text: string) => writeFile(join(dir, name), text)
async function program(name: string, script: string): Promise<void> {
  await write(name, `#!/bin/sh\n${script}\n`)
  await chmod(join(dir, name), 0o755)
}

beforeEach(async () => {
  dir = await newFolder('docket bun ', forEach)
  for (const folder of ['src/local', 'path']) await mkdir(join(dir, folder), { recursive: true })
  await copyFile(new URL('../../src/local/bun.sh', import.meta.url), join(dir, 'src/local/bun.sh'))
  await write('package.json', JSON.stringify(packageJson, null, 2))
  await write('bun.lock', 'first')
  await program('path/bun', 'echo "global $*" >>calls')
  await program('path/npx', `echo "npx $*" >>calls\n${installing}`)
})

const launch = (line = '', settings: Record<string, string> = {}) =>
  new Promise<{ code: number; output: string }>((resolve) => {
    const env = { PATH: `${join(dir, 'path')}:/usr/bin:/bin`, ...settings }
    const args = ['src/local/bun.sh', ...line.split(' ').filter(Boolean)]
    execFile('sh', args, { cwd: dir, env }, (error, _, output) =>
      resolve({ code: Number(error?.code ?? 0), output }),
    )
  })

/** Returns the programs that ran since the last call. */
async function calls(): Promise<string[]> {
  const text = await readFile(join(dir, 'calls'), 'utf8').catch(() => '')
  await rm(join(dir, 'calls'), { force: true })
  return text.split('\n').filter(Boolean)
}

test('the first command installs and uses the pinned Bun; later commands use it, and install again after bun.lock has changed', async () => {
  expect(await launch()).toEqual({ code: 0, output: 'Installing the packages\n' })
  expect(await calls()).toEqual([installed])
  expect(await launch('src/main.ts worker')).toEqual({ code: 0, output: '' })
  expect(await calls()).toEqual(['pinned src/main.ts worker'])
  await write('bun.lock', 'second')
  await launch('check')
  expect(await calls()).toEqual([installed.replace(/.*?install/, 'pinned install'), 'pinned check'])
})

test('limits the heap of the service unless the operator sets a limit, and limits no other program', async () => {
  await launch()
  await calls()
  await program('node_modules/.bin/bun', 'echo "${BUN_JSC_forceRAMSize:-none}" >>calls')
  await launch('src/main.ts web')
  await launch('test/run.ts')
  await launch('src/main.ts web', { BUN_JSC_forceRAMSize: '1' })
  expect(await calls()).toEqual(['402653184', 'none', '1'])
})

test('fails at once if the packages must be installed and node_modules cannot be written', async () => {
  const path = join(dir, 'node_modules')
  const unwritable = [
    // Nobody can create files in /proc, not even root.
    () => symlink('/proc', path),
    () => symlink('/none/of/these', path),
    () => writeFile(path, ''),
  ]
  for (const make of unwritable) {
    await make()
    const output = expect.stringMatching(/cannot write to .*\/node_modules: see the error above\n$/)
    expect(await launch('src/main.ts')).toEqual({ code: 1, output })
    expect(await calls()).toEqual([])
    await rm(path)
  }
})

test('repeats an interrupted install from the beginning', async () => {
  await program('path/npx', `${installing}\necho half >node_modules/half\nkill -KILL $PPID`)
  await launch('check')
  await program('path/npx', `ls node_modules >>calls\n${installing}`)
  expect((await launch('check')).code).toBe(0)
  expect(await calls()).toEqual(['pinned check'])
})

/** Leaves the files of an install whose process has this pid. */
async function interruptInstall(pid: number, files = 0): Promise<void> {
  await mkdir(join(dir, 'node_modules'))
  await write('node_modules/.installing', `${pid}\n`)
  await write('node_modules/.unfinished', '')
  await Promise.all(upTo(files).map((n) => write(`node_modules/half-${n}`, '')))
}

const ended = Bun.spawnSync(['true']).pid

// The pid of the lock may now belong to another program.
test.each([
  ['no install', 0, 4],
  ['an interrupted install', ended, 6],
  ['an interrupted install whose pid another program has', process.pid, 1],
])('after %s, only one of several concurrent commands installs', async (_, pid, count) => {
  if (pid) await interruptInstall(pid, 2_000)
  await program('path/npx', slowly)
  const all = await Promise.all(upTo(count).map(() => launch('check')))
  expect(all.map(({ code }) => code)).toEqual(upTo(count).map(() => 0))
  expect((await calls()).sort()).toEqual([installed, ...upTo(count).map(() => 'pinned check')])
  if (pid) expect((await readdir(join(dir, 'node_modules'))).sort()).toEqual(['.bin', '.installed.lock'])
})

test('reports a failed install, and does not run the command', async () => {
  await program('path/npx', 'echo "no network" >&2; exit 3')
  const output = 'Installing the packages\nno network\nInstalling the packages failed: see the error above\n'
  expect(await launch('check')).toEqual({ code: 1, output })
  expect(await calls()).toEqual([])
})

test('every npm script uses exec, so that signals of npm reach the program', () => {
  const { setup, ...others } = packageJson.scripts
  expect(setup).toBe('sh src/local/bun.sh')
  for (const script of Object.values(others)) expect(script).toStartWith('exec sh src/local/bun.sh ')
})
