import { readdir, readFile, symlink, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { gunzipSync, gzipSync } from 'node:zlib'
import { sources as known } from '../../clients/cli/src/transfer/source.ts'
import { newFolder } from '../kit.ts'
import { openCliScene, type Surroundings } from './scene.ts'

const scene = await openCliScene()
const { run, home, send, service, docket } = scene
service.startWorkers()

const file = async (name: string, content: string | Uint8Array) => {
  const path = join(home, name)
  await writeFile(path, content)
  return path
}
const csv = 'Title,Status,Due Date\nDraw the plate,Doing,2031-05-01\nOil the wheels,Ideas,\n'
const plates = await file('plates.csv', csv)

async function newProject() {
  const { id, list } = await scene.newProject()
  const env = { DOCKET_PROJECT: id }
  const docketIn = (line: string, given: Surroundings = {}) => run(line.split(' '), { ...given, env })
  const statuses = async () => (await list()).map(({ title, status }) => `${title}: ${status}`)
  return { id, env, run: docketIn, statuses }
}
const importPlates = `import ${plates} --source csv`

test('an input of more than 64 MiB is rejected before it is sent', async () => {
  const { run } = await newProject()
  const { code, err } = await run('import - --source csv', { input: 'x'.repeat(67_108_865) })
  expect([code, err]).toEqual([1, expect.stringMatching(/^docket: The input has more than 64 MiB: compress/)])
})

test('without --source, import accepts compressed files of docket export; the sources are those of the service', async () => {
  const { run, statuses } = await newProject()
  const header = 'id,number,title,description,status,priority\n'
  const zipped = await file('own.csv.gz', gzipSync(`\ufeff${header},1,Draw the plate,,DONE,HIGH\n`))
  expect((await run(`import ${zipped}`)).code).toBe(0)
  expect(await statuses()).toEqual(['Draw the plate: DONE'])
  const { text } = await service.client.get('/../docs/json')
  expect(text).toContain(JSON.stringify(known))
})

test('import shows its progress on a terminal; Ctrl-C ends only the wait', async () => {
  const { run } = await newProject()
  const { err } = await run(importPlates, { columns: 80 })
  expect(err).toMatch(/sending 0\.1 KiB[^]*█ 2 tasks\r\u001b\[KImport \S+ done/)
  const signals: Surroundings['signals'] = new Set()
  const fetch = async (url: string, init: RequestInit) => {
    const isWaiting = /\/imports\/[^/]+$/.test(url)
    if (isWaiting) for (const listener of signals) listener('SIGINT')
    return send(url, init)
  }
  const stopped = await run(importPlates, { signals, fetch })
  expect([stopped.code, stopped.out, signals.size]).toEqual([130, '', 0])
  const [, id] = /^docket: The import continues: docket imports (\S+) --wait waits/.exec(stopped.err) ?? []
  expect((await run(`imports ${id} --wait`)).code).toBe(0)
})

test('an error during the wait names the import, and keeps its exit code', async () => {
  const { run } = await newProject()
  const missing = () => Response.json({ message: 'Import not found' }, { status: 404 })
  const fetch = async (url: string, init: RequestInit) =>
    url.includes('/imports/') ? missing() : send(url, init)
  const { code, err } = await run(importPlates, { fetch })
  expect([code, err]).toEqual([
    3,
    expect.stringMatching(/^docket: Import not found. The import continues: docket imports \S+ --wait/),
  ])
})

const { id: projectId, env } = await newProject()
const { id: taskId } = await docket.tasks.create({ projectId, title: 'Draw the plate' })
await docket.comments.create({ taskId, text: 'In brass, please.' })
test('export writes all projects as an archive to a file, but not to a terminal', async () => {
  const archive = join(await newFolder(), 'all.tar.gz')
  expect((await run(['export', '--all', '-o', archive])).code).toBe(0)
  expect(gunzipSync(await readFile(archive)).toString()).toContain('In brass, please.')
  expect((await run(['export', '--all'], { columns: 80 })).code).toBe(2)
})

test('export exits with 6 when it breaks, and does not change the previous file', async () => {
  const breaking = async (url: string, init: RequestInit) => {
    if (!url.includes('/export')) return send(url, init)
    let parts = 0
    const pull = (body: ReadableStreamDefaultController) =>
      parts++ > 0 ? body.error(new Error('reset')) : body.enqueue(new Uint8Array(9))
    return new Response(new ReadableStream({ pull }))
  }
  const folder = await newFolder()
  const path = join(folder, 'engine.docket')
  const broken = () => run(['export', '-o', path], { env, fetch: breaking })
  const err = 'docket: The connection was lost before the end of the export\n'
  expect(await broken()).toMatchObject({ code: 6, err })
  expect(await readdir(folder)).toEqual([])
  await writeFile(path, 'earlier')
  await symlink(path, join(folder, 'link'))
  expect((await broken()).code).toBe(6)
  expect(await readFile(path, 'utf8')).toBe('earlier')
  expect((await readdir(folder)).sort()).toEqual(['engine.docket', 'link'])
  expect((await run(['export', '-o', join(folder, 'link')], { env })).code).toBe(0)
  expect(await readFile(path, 'utf8')).toContain('"kind":"end"')
  expect((await run(['export'], { env, fetch: breaking })).code).toBe(6)
})
