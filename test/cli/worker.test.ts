import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { SignalName } from '../../clients/cli/src/cli.ts'
import { newFolder } from '../kit.ts'
import { openCliScene } from './scene.ts'

const { run, json, docket, ada } = await openCliScene()
const folder = await newFolder()
const { id } = await json(['projects', '--create', 'Engine'])
const PATH = process.env.PATH!
const inEngine = { env: { DOCKET_PROJECT: id, PATH } }
const claimNext = (...line: string[]) => run(['claim-next', ...line], inEngine)
const taskOf = (external: string) =>
  docket.tasks.list({ projectId: id, externalId: external }).then(([task]) => task!)
const add = (external: string, ...line: string[]) =>
  json(['add', `Task ${external}`, '--external-id', external, '--priority', 'high', ...line], inEngine)

test('claims the next task, or exits with 3 if none is ready', async () => {
  expect(await claimNext()).toEqual({ code: 3, out: '', err: 'No task is ready\n' })
  const { id: taskId } = await add('claimed')
  const claimed = await json(['claim-next', '--lease', '300'], inEngine)
  expect([claimed.id, claimed.claim.by.id]).toEqual([taskId, ada.id])
  await docket.tasks.release(taskId)
  // An empty variable of a script must not select all tasks.
  for (const [option, code] of [
    ['--labels', 2],
    ['--any-label', 2],
    ['--assignee', 3],
  ] as const)
    expect((await claimNext(option, '')).code).toBe(code)
  await docket.tasks.delete(taskId)
})

test('--exec runs a command with the task in its environment, then the task is DONE', async () => {
  const task = await add('good', '--description', 'In "ink"\nand brass')
  const file = join(folder, 'environment')
  const names = ['ID', 'NUMBER', 'TITLE'].map((name) => `$DOCKET_TASK_${name}`).join('|')
  const { code } = await claimNext('--exec', `printf '%s\\n%s' "${names}" "$DOCKET_TASK" > '${file}'`)
  expect(code).toBe(0)
  const [line, ...lines] = (await readFile(file, 'utf8')).split('\n')
  expect(line).toBe(`${task.id}|${task.number}|Task good`)
  expect(JSON.parse(lines.join('\n'))).toMatchObject({ id: task.id, description: task.description })
  expect(await taskOf('good')).toMatchObject({ status: 'DONE', claim: null })
})

test('after a failed command, docket releases the task and exits with the code of the command', async () => {
  await add('bad')
  expect((await claimNext('--exec', 'exit 7')).code).toBe(7)
  expect(await taskOf('bad')).toMatchObject({ status: 'TODO', claim: null, attempts: 1 })
  expect((await claimNext('--exec', 'true', '--keep-status')).code).toBe(0)
  expect(await taskOf('bad')).toMatchObject({ status: 'TODO', claim: null, attempts: 1 })
  const [event] = await docket.events
    .list({ projectId: id, types: 'task.released' })
    .all()
    .then((all) => all.slice(-2))
  expect(event).toMatchObject({ failed: true, reason: 'The command exited with 7' })
  expect((await claimNext('--max-attempts', '1')).code).toBe(3)
  expect(
    (await json(['tasks', '--min-attempts', '1'], inEngine)).map(({ title }: { title: string }) => title),
  ).toEqual(['Task bad'])
  expect(await json(['edit', (await taskOf('bad')).id, '--reset-attempts'])).toMatchObject({ attempts: 0 })
  expect((await claimNext('--max-attempts', '0')).code).toBe(2)
  await json(['done', (await taskOf('bad')).id])
})

test('a signal ends all processes of the command, and docket releases the task', async () => {
  await add('signal')
  const signals = new Set<(name: SignalName) => void>()
  const file = join(folder, 'started')
  const command = `touch '${file}'; sleep 60 | sleep 60; echo`
  const running = run(['claim-next', '--exec', command], { ...inEngine, signals })
  while (!(await Bun.file(file).exists())) await Bun.sleep(10)
  for (const send of signals) send('SIGTERM')
  expect((await running).code).toBe(143)
  expect(await taskOf('signal')).toMatchObject({ status: 'TODO', claim: null, attempts: 0 })
  expect(signals.size).toBe(0)
  await json(['done', (await taskOf('signal')).id])
})

test('the command may end the claim itself; if another worker has the claim, docket changes nothing and exits with 5', async () => {
  await add('own')
  const end = async (external: string, work: () => Promise<unknown>) => {
    const file = join(folder, external)
    const running = run(['claim-next', '--exec', `while [ ! -e '${file}' ]; do sleep 0.02; done`], inEngine)
    while (!(await taskOf(external)).claim) await Bun.sleep(10)
    await work()
    await Bun.write(file, '')
    return running
  }
  const own = await taskOf('own')
  expect((await end('own', () => docket.tasks.update(own.id, { status: 'DONE' }))).code).toBe(0)
  const lost = await add('lost')
  const { code, err } = await end('lost', async () => {
    await docket.tasks.release(lost.id)
    await docket.tasks.claim(lost.id, { leaseSeconds: 60 })
  })
  expect([code, err]).toEqual([
    5,
    expect.stringMatching(/^docket: The claim on #\d+ has ended too early, so the task was not changed: /),
  ])
  expect(await taskOf('lost')).toMatchObject({ status: 'TODO', claim: { by: { id: ada.id } } })
})

test('a docket command within --exec writes only while the claim lasts', async () => {
  const { id: taskId } = await json(['add', 'Nested'], inEngine)
  const { claim } = await docket.tasks.claim(taskId, { leaseSeconds: 60 })
  const env = { ...inEngine.env, DOCKET_TASK_ID: taskId, DOCKET_CLAIM_SEQ: String(claim!.seq) }
  const comment = async () => (await run(['comment', taskId, 'Done'], { env })).code
  expect(await comment()).toBe(0)
  await docket.tasks.release(taskId)
  expect(await comment()).toBe(5)
  expect((await run(['add', 'Another'], { env })).code).toBe(5)
})
