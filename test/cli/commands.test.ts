import { readFile, stat } from 'node:fs/promises'
import { join } from 'node:path'
import { newFolder } from '../kit.ts'
import { openCliScene } from './scene.ts'

const { ada, run, json, send, docket, newProject, ...scene } = await openCliScene()
const operations = (count: number) =>
  Array.from({ length: count }, (_, n) => JSON.stringify({ op: 'task.create', title: `Task ${n}` })).join(
    '\n',
  )

test('batch --split commits each of more than 500 operations once, and shows its progress on a terminal', async () => {
  const { id, list } = await newProject()
  const given = { env: { DOCKET_PROJECT: id }, input: operations(501) }
  const tooMany = 'A batch has at most 500 operations, but the input has 501'
  expect((await run(['batch'], given)).err).toContain(tooMany)
  const line = ['batch', '--split', '--key', 'import-1']
  expect((await run(line, { ...given, columns: 80 })).err).toMatch(
    /░ 500\/501 operations[^]*█ 501\/501 operations\r\u001b\[KCommitted 501 operations/,
  )
  const again = 'Committed 501 operations as batches 2, 502: version 502\n'
  expect((await run(line, given)).err).toBe(again)
  expect(await list()).toHaveLength(501)
})

test('batch --split reports the batches before a failed one, removes its progress bar, and exits with its code', async () => {
  let batches = 0
  const fetch = async (url: string, init: RequestInit) =>
    url.includes('/batch') && batches++ > 0
      ? Response.json({ message: 'The claim has ended' }, { status: 412 })
      : send(url, init)
  const env = { DOCKET_PROJECT: (await newProject()).id }
  const given = { env, input: operations(501), fetch, columns: 80 }
  const { code, err } = await run(['batch', '--split'], given)
  expect([code, Bun.stripANSI(err.slice(err.lastIndexOf('\r')))]).toEqual([
    5,
    '\rdocket: The first 500 operations are committed as batch 2 (version 501); the next batch failed: The claim has ended\n',
  ])
})

test('without --after, tail prints only events after its start', async () => {
  const { id } = await newProject(1)
  const env = { DOCKET_PROJECT: id }
  let isRunning = true
  const next = run(['tail', '--limit', '1'], { env }).finally(() => (isRunning = false))
  while (isRunning) await json(['comment', '1', 'Oiled'], { env })
  expect((await next).out).toMatch(/^\d+ {2}\S+ \S+ {2}Ada {2}comment\.created {2}#1 T1 {2}Oiled\n$/)
})

test('tail continues with a snapshot when the next events have expired', async () => {
  const { id } = await newProject(1)
  const env = { DOCKET_PROJECT: id }
  let opened = 0
  const expired = async (url: string, init: RequestInit) => {
    // The first request of `tail` checks its options; `follow` sends the second and third.
    const isExpired = url.includes('/events') && ++opened > 1 && opened <= 3
    return isExpired ? Response.json({ message: 'Expired' }, { status: 410 }) : send(url, init)
  }
  const running = run(['tail', '--after', '0', '--limit', '1', '--json'], { env, fetch: expired })
  while (opened < 4) await Bun.sleep(5)
  await json(['add', 'Oil'], { env })
  const { out, err } = await running
  const items = out
    .trim()
    .split('\n')
    .map((one) => JSON.parse(one))
  expect(items).toMatchObject([{ type: 'snapshot', seq: 2, tasks: [{ title: 'T1' }] }, { seq: 3 }])
  expect(err).toBe('The service has deleted the next events: continuing after event 2\n')
})

test('a lost response or a repeated --key creates one task', async () => {
  const { id, list } = await newProject()
  const env = { DOCKET_PROJECT: id }
  let requests = 0
  const losing = async (url: string, init: RequestInit) => {
    const response = await send(url, init)
    if (++requests === 1) throw new TypeError('The connection was closed')
    return response
  }
  const { code, err } = await run(['add', 'Draw'], { env, fetch: losing, columns: 80 })
  expect([code, err]).toEqual([0, 'http://localhost does not answer: retrying\n'])
  expect([requests, (await list()).length]).toEqual([2, 1])
  const first = await json(['add', 'Draw', '--key', 'plate-1'], { env })
  expect(await json(['add', 'Draw', '--key', 'plate-1'], { env })).toEqual(first)
  expect(await list()).toHaveLength(2)
  const fetch = async () => Response.json({ message: 'No' }, { status: 500 })
  expect(await run(['tasks'], { env, fetch })).toEqual({ code: 6, out: '', err: 'docket: No\n' })
})

test('finds names in other Unicode forms, such as those that macOS and Japanese keyboards write', async () => {
  const { id: projectId } = await docket.projects.create({ name: 'Größe ガ' })
  await scene.join(projectId, 'Zoë'.normalize('NFD'))
  for (const name of ['Prüfung', 'Ⅳ 2']) await docket.labels.create({ projectId, name })
  const options = ['klein', 'Größer']
  await docket.fields.create({ projectId, key: 'size', name: 'Size', type: 'choice', options })
  const labels = ['prüfung'.normalize('NFD'), 'iv\u00a02'].join()
  const size = 'Größer'.normalize('NFD')
  for (const project of ['NFC', 'NFD', 'NFKD'].map((form) => ['-p', 'größe ガ'.normalize(form)])) {
    const given = ['--assignee', 'zoë', '--labels', labels, '--fields', `size=${size}`]
    const { labelIds, fields } = await json(['add', 'Cast', ...given, ...project])
    expect([labelIds.length, fields]).toEqual([2, { size: 'Größer' }])
    expect(await json(['tasks', '--any-label', labels, ...project])).not.toEqual([])
  }
  expect(await json(['tasks', `field.size=${size}`, '-p', 'Größe ｶﾞ'])).toHaveLength(3)
})

test('a table fits the terminal, and no output contains escape sequences of a text', async () => {
  const { id } = await newProject()
  const env = { DOCKET_PROJECT: id }
  const long = `${'漢字'.repeat(30)} end`
  await json(['add', long, '--priority', 'low'], { env })
  const onTerminal = await run(['tasks'], { env, columns: 50 })
  expect(onTerminal.out).toMatch(/^\u001b\[1m# .*\u001b\[0m\n.*字….*\n$/)
  for (const line of onTerminal.out.split('\n')) expect(Bun.stringWidth(line)).toBeLessThanOrEqual(50)
  const plain = await run(['tasks'], { env: { ...env, NO_COLOR: '1' }, columns: 50 })
  expect(plain.out).not.toContain('\u001b')
  expect((await run(['tasks'], { env })).out).toContain(long)
  const text = 'a\u001b[31mb\u009b2Jc\nd'
  await json(['add', 'Draw', '--description', text], { env })
  expect((await json(['tasks'], { env }))[1].description).toBe(text)
  await json(['edit', '2', '--description', `${text}!`], { env })
  for (const line of [['history'], ['tasks', '--json'], ['history', '2']])
    expect((await run(line, { env })).out).not.toMatch(/[\u001b\u009b]/)
})

test('login stores the token in a file that only the user can read, use a default project, and logout deletes the token', async () => {
  const HOME = await newFolder()
  const file = join(HOME, '.config/docket/config.json')
  const env = { HOME, DOCKET_URL: '', DOCKET_TOKEN: '' }
  await run(['login', '--url', 'http://localhost', '--token', ada.token!], { env })
  const modes = [await stat(file), await stat(join(file, '..'))].map(({ mode }) => (mode & 0o777).toString(8))
  expect([await readFile(file, 'utf8'), ...modes]).toEqual([
    expect.stringContaining(ada.token!),
    '600',
    '700',
  ])
  await run(['use', (await newProject()).id], { env })
  expect((await run(['projects'], { env })).out).toMatch(/^DEFAULT {2}NAME .*\n(?:.*\n)*\* +Engine /)
  await run(['logout'], { env })
  expect(await readFile(file, 'utf8')).not.toContain(ada.token!)
})
