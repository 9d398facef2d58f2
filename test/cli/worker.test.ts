import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { SignalName } from '../../clients/cli/src/cli.ts'
import { eventually, newFolder } from '../kit.ts'
import { openCliScene, type Surroundings } from './scene.ts'

const { run, docket, ada, newProject } = await openCliScene()
const folder = await newFolder()

/** Creates a project with one task, and returns functions for this task and for `docket claim-next` in the project. */
async function openQueue(more: object = {}) {
  const { id: projectId } = await newProject()
  const env = { DOCKET_PROJECT: projectId, PATH: process.env.PATH! }
  const { id } = await docket.tasks.create({ projectId, title: 'Draw', ...more })
  const read = () => docket.tasks.get(id)
  const claimNext = (line: string[], given: Surroundings = {}) =>
    run(['claim-next', ...line], { ...given, env })
  return { id, read, claimNext, exec: (command: string) => claimNext(['--exec', command]) }
}

test('--exec runs a command with the task in its environment, then the task is DONE', async () => {
  const { id, read, exec } = await openQueue({ description: 'In "ink"\nand brass' })
  const file = join(folder, 'environment')
  const names = ['ID', 'NUMBER', 'TITLE'].map((name) => `$DOCKET_TASK_${name}`).join('|')
  expect((await exec(`printf '%s\\n%s' "${names}" "$DOCKET_TASK" > '${file}'`)).code).toBe(0)
  const [line, ...lines] = (await readFile(file, 'utf8')).split('\n')
  expect(line).toBe(`${id}|1|Draw`)
  expect(JSON.parse(lines.join('\n'))).toMatchObject({ id, description: 'In "ink"\nand brass' })
  expect(await read()).toMatchObject({ status: 'DONE', claim: null })
})

test('a signal ends all processes of the command, and docket releases the task', async () => {
  const { read, claimNext } = await openQueue()
  const signals = new Set<(name: SignalName) => void>()
  const [file, ended] = [join(folder, 'started'), join(folder, 'ended')]
  // The shell of the command does not forward signals to the inner shell.
  const inner = `trap "touch '${ended}'; exit" TERM; touch '${file}'; for n in $(seq 400); do sleep 0.05; done`
  const running = claimNext(['--exec', `(${inner}) | cat; echo`], { signals })
  while (!(await Bun.file(file).exists())) await Bun.sleep(10)
  for (const listener of signals) listener('SIGTERM')
  expect((await running).code).toBe(143)
  await eventually('the end of the inner shell', () => Bun.file(ended).exists())
  expect(await read()).toMatchObject({ status: 'TODO', claim: null, attempts: 0 })
  expect(signals.size).toBe(0)
})

type End = (id: string) => Promise<unknown>
const end: End = (id) => docket.tasks.update(id, { status: 'DONE' })
const giveAway: End = async (id) => {
  await docket.tasks.release(id)
  await docket.tasks.claim(id, { leaseSeconds: 60 })
}
const early = 'docket: The claim on #1 has ended too early, so the task was not changed: '

test.each([
  ['may end its claim itself', end, 'touch', 0, '', { status: 'DONE', claim: null }],
  [
    'with a lost claim changes nothing',
    giveAway,
    'touch',
    5,
    early,
    { status: 'TODO', claim: { by: { id: ada.id } } },
  ],
  [
    'with a lost claim is ended',
    giveAway,
    'never',
    5,
    early,
    { status: 'TODO', claim: { by: { id: ada.id } } },
  ],
])('a command %s', async (_, change, next, code, message, after) => {
  const { id, read, claimNext } = await openQueue()
  const file = join(folder, crypto.randomUUID())
  const running = claimNext(['--lease', '10', '--exec', `while [ ! -e '${file}' ]; do sleep 0.02; done`])
  while (!(await read()).claim) await Bun.sleep(10)
  await change(id)
  if (next === 'touch') await Bun.write(file, '')
  const ended = await running
  expect([ended.code, ended.err]).toEqual([code, expect.stringContaining(message)])
  expect(await read()).toMatchObject(after)
})
