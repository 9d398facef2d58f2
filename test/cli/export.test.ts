import { readdir, readFile, symlink, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { gunzipSync } from 'node:zlib'
import { newFolder } from '../kit.ts'
import { openCliScene } from './scene.ts'

const { run, json, send, service } = await openCliScene()
service.startWorkers()
const { id } = await json(['projects', '--create', 'Engine'])
const env = { DOCKET_PROJECT: id }
const task = await json(['add', 'Draw the plate', '--priority', 'high'], { env })
await json(['comment', task.id, 'In brass, please.'])

test.each(['docket', 'ndjson', 'csv'])(
  'export writes the format %s to standard output or a file, and import reads docket and csv',
  async (format) => {
    const folder = await newFolder()
    const path = join(folder, `engine.${format}`)
    const saved = await run(['export', '--format', format, '-o', path], { env })
    expect(saved).toMatchObject({
      code: 0,
      out: '',
      err: expect.stringMatching(/^Wrote \S+: version 3, \d\.\d KiB\n$/),
    })
    expect(await readdir(folder)).toEqual([`engine.${format}`])
    const printed = await run(['export', '--format', format], { env })
    expect(withoutTimes(printed.out)).toBe(withoutTimes(await readFile(path, 'utf8')))
    if (format === 'ndjson') return
    const { id: copy } = await json(['projects', '--create', `Copy ${format}`])
    expect((await json(['import', path, '-p', copy])).counts.created).toBe(1)
    expect(await json(['tasks', '-p', copy])).toMatchObject([{ title: 'Draw the plate', priority: 'HIGH' }])
  },
)

const withoutTimes = (text: string) => text.replace(/"exportedAt":"[^"]*"/, '')

test('export writes an earlier version, or all projects as an archive', async () => {
  const early = await run(['export', '--as-of', '2', '--format', 'ndjson'], { env })
  expect(JSON.parse(early.out)).toMatchObject({ title: 'Draw the plate', comments: [] })
  const archive = join(await newFolder(), 'all.tar.gz')
  expect((await run(['export', '--all', '-o', archive])).code).toBe(0)
  expect(gunzipSync(await readFile(archive)).toString()).toContain('In brass, please.')
  expect((await run(['export', '--all'], { columns: 80 })).code).toBe(2)
  expect((await run(['export', '--all', '--format', 'csv'])).code).toBe(2)
  expect((await run(['export', '--format', 'csv', '--history'], { env })).code).toBe(1)
})

/** Answers the request for an export with a body that ends with an error. */
const breaking = async (url: string, init: RequestInit) => {
  if (!url.includes('/export')) return send(url, init)
  let parts = 0
  return new Response(
    new ReadableStream({
      pull: (controller) =>
        parts++ > 0 ? controller.error(new Error('reset')) : controller.enqueue(new Uint8Array(9)),
    }),
  )
}

test('a broken export exits with 6, and does not change the previous file', async () => {
  const folder = await newFolder()
  const path = join(folder, 'engine.docket')
  const broken = () => run(['export', '-o', path], { env, fetch: breaking })
  expect(await broken()).toMatchObject({
    code: 6,
    err: 'docket: The connection was lost before the end of the export\n',
  })
  expect(await readdir(folder)).toEqual([])
  await writeFile(path, 'earlier')
  await symlink(path, join(folder, 'link'))
  expect((await broken()).code).toBe(6)
  expect([await readFile(path, 'utf8'), await readdir(folder)]).toEqual([
    'earlier',
    ['engine.docket', 'link'],
  ])
  expect((await run(['export', '-o', join(folder, 'link')], { env })).code).toBe(0)
  expect(await readFile(path, 'utf8')).toContain('"kind":"end"')
  expect((await run(['export'], { env, fetch: breaking })).code).toBe(6)
})
