import { execFile } from 'node:child_process'
import { chmod, copyFile, mkdir, readdir, readFile, rm, symlink, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import packageJson from '../../package.json' with { type: 'json' }
import { newFolder, openForEach, upTo } from '../kit.ts'

const pinned = packageJson.devDependencies.bun

// A fake install, which creates a Bun that records its calls.
const installing = `mkdir -p node_modules/.bin
printf '#!/bin/sh\\necho "pinned $*" >>calls\\n' >node_modules/.bin/bun
chmod +x node_modules/.bin/bun`

const forEach = openForEach()
let dir: string
beforeEach(async () => {
  dir = await newFolder('docket bun ', forEach)
  await mkdir(join(dir, 'src/local'), { recursive: true })
  await copyFile(new URL('../../src/local/bun.sh', import.meta.url), join(dir, 'src/local/bun.sh'))
  await writeFile(join(dir, 'package.json'), JSON.stringify(packageJson, null, 2))
  await writeFile(join(dir, 'bun.lock'), 'first')
  await program('bun', 'echo "global $*" >>calls')
  await program('npx', `echo "npx $*" >>calls\n${installing}`)
})

async function program(name: string, script: string): Promise<void> {
  await mkdir(join(dir, 'path'), { recursive: true })
  await writeFile(join(dir, 'path', name), `#!/bin/sh\n${script}\n`)
  await chmod(join(dir, 'path', name), 0o755)
}

const launch = (...args: string[]) =>
  new Promise<{ code: number; output: string }>((resolve) => {
    const env = { PATH: `${join(dir, 'path')}:/usr/bin:/bin` }
    execFile('sh', ['src/local/bun.sh', ...args], { cwd: dir, env }, (error, _, output) =>
      resolve({ code: Number(error?.code ?? 0), output }),
    )
  })

async function calls(): Promise<string[]> {
  const text = await readFile(join(dir, 'calls'), 'utf8').catch(() => '')
  await rm(join(dir, 'calls'), { force: true })
  return text.trim().split('\n')
}

const options = 'install --frozen-lockfile --no-progress --no-summary'

test('the first command installs and uses the pinned Bun; later commands use it without an install', async () => {
  expect(await launch('src/main.ts', 'web')).toEqual({ code: 0, output: 'Installing the packages\n' })
  expect(await calls()).toEqual([`npx --yes bun@${pinned} ${options}`, 'pinned src/main.ts web'])
  expect(await launch('src/main.ts', 'worker')).toEqual({ code: 0, output: '' })
  expect(await calls()).toEqual(['pinned src/main.ts worker'])
})

test('limits the heap of the service unless the operator sets a limit, and limits no other program', async () => {
  await launch()
  await calls()
  await program('pinned', 'echo "${BUN_JSC_forceRAMSize:-none}" >>calls')
  await copyFile(join(dir, 'path/pinned'), join(dir, 'node_modules/.bin/bun'))
  await launch('src/main.ts', 'web')
  await launch('test/run.ts')
  expect(await calls()).toEqual(['402653184', 'none'])
  await writeFile(join(dir, 'run.sh'), 'BUN_JSC_forceRAMSize=1 sh src/local/bun.sh src/main.ts web')
  await new Promise((resolve) => execFile('sh', ['run.sh'], { cwd: dir }, resolve))
  expect(await calls()).toEqual(['1'])
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
    const { code, output } = await launch('src/main.ts')
    expect([code, output]).toEqual([
      1,
      expect.stringMatching(/cannot write to .*\/node_modules: see the error above\n$/),
    ])
    expect(await calls()).toEqual([''])
    await rm(path)
  }
})

test('without arguments, bun.sh only installs the packages', async () => {
  await launch()
  expect(await calls()).toEqual([`npx --yes bun@${pinned} ${options}`])
})

test('installs again after bun.lock has changed', async () => {
  await launch()
  await calls()
  await writeFile(join(dir, 'bun.lock'), 'second')
  await launch('check')
  expect(await calls()).toEqual([`pinned ${options}`, 'pinned check'])
})

test('only one of several concurrent first commands installs', async () => {
  await program('npx', `echo "npx $*" >>calls\nsleep 0.5\n${installing}`)
  const all = await Promise.all(upTo(4).map(() => launch('check')))
  expect(all).toEqual(all.map(({ output }) => ({ code: 0, output })))
  expect((await calls()).sort()).toEqual([
    `npx --yes bun@${pinned} ${options}`,
    ...upTo(4).map(() => 'pinned check'),
  ])
})

test('repeats an interrupted install from the beginning', async () => {
  await program('npx', `${installing}\necho half >node_modules/half\nkill -KILL $PPID`)
  await launch('check')
  await program('npx', `ls node_modules >>calls\n${installing}`)
  expect((await launch('check')).code).toBe(0)
  expect(await calls()).toEqual(['pinned check'])
})

async function interruptInstall(holder: string, files = 0): Promise<void> {
  await mkdir(join(dir, 'node_modules'))
  await writeFile(join(dir, 'node_modules/.installing'), `${holder}\n`)
  await writeFile(join(dir, 'node_modules/.unfinished'), '')
  await Promise.all(upTo(files).map((n) => writeFile(join(dir, `node_modules/half-${n}`), '')))
}

test('ignores a lock whose pid now belongs to another program', async () => {
  await interruptInstall(`${process.pid}`)
  expect((await launch('check')).code).toBe(0)
  expect(await calls()).toEqual([`npx --yes bun@${pinned} ${options}`, 'pinned check'])
})

test('only one of several concurrent commands repeats an interrupted install', async () => {
  const { pid } = Bun.spawnSync(['true'])
  await interruptInstall(`${pid}`, 2_000)
  await program('npx', `echo "npx $*" >>calls\nsleep 0.5\n${installing}`)
  const all = await Promise.all(upTo(6).map(() => launch('check')))
  expect(all).toEqual(all.map(({ output }) => ({ code: 0, output })))
  expect((await calls()).filter((call) => call.startsWith('npx'))).toHaveLength(1)
  expect((await readdir(join(dir, 'node_modules'))).sort()).toEqual(['.bin', '.installed.lock'])
})

test('reports a failed install, and does not run the command', async () => {
  await program('npx', 'echo "no network" >&2; exit 3')
  const output = 'Installing the packages\nno network\nInstalling the packages failed: see the error above\n'
  expect(await launch('check')).toEqual({ code: 1, output })
  expect(await calls()).toEqual([''])
})

test('every npm script uses exec, so that signals of npm reach the program', () => {
  const { setup, ...others } = packageJson.scripts
  expect(setup).toBe('sh src/local/bun.sh')
  for (const script of Object.values(others)) expect(script).toStartWith('exec sh src/local/bun.sh ')
})
