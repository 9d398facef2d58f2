import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { gzipSync } from 'node:zlib'
import { sources as known } from '../../clients/cli/src/transfer/source.ts'
import { sources } from '../../modules/imports/sources.ts'
import { openCliScene, type Surroundings } from './scene.ts'

const scene = await openCliScene()
const { run, json, home } = scene
scene.service.startWorkers()

const file = async (name: string, content: string | Uint8Array) => {
  const path = join(home, name)
  await writeFile(path, content)
  return path
}
const newProject = async (): Promise<string> => (await json(['projects', '--create', 'Engine'])).id
const csv = 'Title,Status,Due Date\nDraw the plate,Doing,2031-05-01\nOil the wheels,Ideas,\n'
const plates = await file('plates.csv', csv)
const statusesOf = async (project: string) =>
  (await json(['tasks', '-p', project])).map((task: { title: string; status: string }) => [
    task.title,
    task.status,
  ])

test('import creates the tasks of a file once, and prints the counts and the report', async () => {
  const project = await newProject()
  const line = ['import', plates, '--source', 'csv', '-p', project]
  const first = await run(line)
  expect([first.code, first.err]).toEqual([
    0,
    expect.stringMatching(
      /^Import \S+ done: 2 created, 0 updated, 0 unchanged, 0 rejected \(2 tasks read\)\n$/,
    ),
  ])
  expect(await statusesOf(project)).toEqual([
    ['Draw the plate', 'IN_PROGRESS'],
    ['Oil the wheels', 'TODO'],
  ])
  const again = await json(line)
  expect(again).toMatchObject({ state: 'done', counts: { created: 0, unchanged: 2 }, report: [] })
})

test('a dry run prints its mapping as JSON, which --mapping accepts', async () => {
  const project = await newProject()
  const line = ['import', plates, '--source', 'csv', '-p', project]
  const dry = await run([...line, '--dry-run'])
  expect([dry.code, dry.err]).toEqual([0, expect.stringContaining('2 created, 0 updated')])
  expect(dry.err).toContain('nothing has changed')
  expect(await statusesOf(project)).toEqual([])
  const mapping = JSON.parse(dry.out)
  expect(mapping.statuses).toEqual({ Doing: 'IN_PROGRESS', Ideas: null })
  mapping.statuses.Ideas = 'DONE'
  const stored = await file('mapping.json', JSON.stringify(mapping))
  expect((await run([...line, '--mapping', stored])).code).toBe(0)
  expect(await statusesOf(project)).toEqual([
    ['Draw the plate', 'IN_PROGRESS'],
    ['Oil the wheels', 'DONE'],
  ])
  const changed = await json([...line, '--mapping', '{"statuses":{"Ideas":"TODO"}}'])
  expect(changed.counts).toMatchObject({ updated: 1, unchanged: 1 })
  for (const [wrong, code, message] of [
    ['{"statuses":', 2, '--mapping must be a JSON object'],
    [await file('array.json', '[]'), 2, '--mapping must be a JSON object'],
    ['{"statuses":{"Ideas":"BUSY"}}', 1, 'mapping.statuses.Ideas must be one of'],
  ] as const)
    expect(await run([...line, '--mapping', wrong])).toMatchObject({
      code,
      err: expect.stringContaining(message),
    })
})

test('a broken file fails with exit code 1 and the place in the file', async () => {
  const project = await newProject()
  const broken = await file('broken.csv', 'title,status\n"Draw the plate,TODO\n')
  const { code, err } = await run(['import', broken, '--source', 'csv', '-p', project])
  expect([code, err]).toEqual([1, expect.stringMatching(/^docket: Import \S+ failed: .*line/)])
  expect((await run(['imports', '-p', project])).out).toMatch(/\bcsv +failed\b/)
  const missing = await run(['import', join(home, 'missing.csv'), '--source', 'csv', '-p', project])
  expect([missing.code, missing.err]).toEqual([1, expect.stringContaining('ENOENT')])
})

test('without --source, import accepts only files of docket export, also compressed and from standard input', async () => {
  const project = await newProject()
  const { code, err } = await run(['import', plates, '-p', project])
  expect([code, err]).toEqual([
    2,
    expect.stringMatching(/^docket: --source is required.* csv, jira, trello,/),
  ])
  expect([...known]).toEqual([...sources])
  const header = 'id,number,title,description,status,priority\n'
  const zipped = await file('own.csv.gz', gzipSync(`\ufeff${header},1,Draw the plate,,DONE,HIGH\n`))
  expect((await json(['import', zipped, '-p', project])).source).toBe('csv')
  const input = `${header},2,Oil the wheels,,TODO,HIGH\n`
  expect((await json(['import', '-', '-p', project], { input })).counts.created).toBe(1)
})

test('an input of more than 64 MiB is rejected before it is sent', async () => {
  const input = 'x'.repeat(67_108_865)
  const { code, err } = await run(['import', '-', '--source', 'csv', '-p', await newProject()], { input })
  expect([code, err]).toEqual([1, expect.stringMatching(/^docket: The input has more than 64 MiB: compress/)])
})

test('imports lists, shows, waits for and undoes imports', async () => {
  const project = await newProject()
  const started = await run(['import', plates, '--source', 'csv', '-p', project, '--no-wait'])
  const [, id] = /^Started import (\S+)\n$/.exec(started.out) ?? []
  expect((await run(['imports', id!, '--wait'])).err).toStartWith(`Import ${id} done: 2 created`)
  expect((await json(['imports', '-p', project])).map((one: { id: string }) => one.id)).toEqual([id])
  const cancelled = await run(['imports', id!, '--cancel'])
  expect([cancelled.code, cancelled.err]).toEqual([5, 'docket: The import has already ended\n'])
  await json(['edit', '1', '-p', project, '--title', 'Draw both plates'])
  const undone = await run(['imports', id!, '--undo'])
  expect([undone.code, undone.out]).toEqual([0, expect.stringMatching(/\bkept\b/)])
  expect(undone.err).toMatch(/^Undo of import \S+ done: \d+ tasks undone, 1 tasks kept\n$/)
  expect(await statusesOf(project)).toEqual([['Draw both plates', 'IN_PROGRESS']])
  expect((await run(['imports', '--undo'])).code).toBe(2)
  expect((await run(['imports', id!, '--undo', '--cancel'])).code).toBe(2)
  expect((await run(['imports', 'x'])).code).toBe(3)
})

test('import shows its progress on a terminal; Ctrl-C ends only the wait', async () => {
  const project = await newProject()
  const line = ['import', plates, '--source', 'csv', '-p', project]
  const { err } = await run(line, { columns: 80 })
  expect(err).toMatch(/sending 0\.1 KiB[^]*█ 2 tasks\r\u001b\[KImport \S+ done/)
  const signals: Surroundings['signals'] = new Set()
  const fetch = async (url: string, init: RequestInit) => {
    const isWaiting = /\/imports\/[^/]+$/.test(url)
    if (isWaiting) for (const send of signals) send('SIGINT')
    return scene.send(url, init)
  }
  const stopped = await run(line, { signals, fetch })
  expect([stopped.code, stopped.out, signals.size]).toEqual([130, '', 0])
  const [, id] = /^docket: The import continues: docket imports (\S+) --wait waits/.exec(stopped.err) ?? []
  expect((await run(['imports', id!, '--wait'])).code).toBe(0)
})

test('an error during the wait names the import, and keeps its exit code', async () => {
  const project = await newProject()
  const fetch = async (url: string, init: RequestInit) =>
    url.includes('/imports/')
      ? Response.json({ message: 'Import not found' }, { status: 404 })
      : scene.send(url, init)
  const { code, err } = await run(['import', plates, '--source', 'csv', '-p', project], { fetch })
  expect([code, err]).toEqual([
    3,
    expect.stringMatching(/^docket: Import not found. The import continues: docket imports \S+ --wait/),
  ])
})
