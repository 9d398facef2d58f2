import { readdirSync } from 'node:fs'
import { join } from 'node:path'
import { root } from '../kit.ts'
import { openCliScene } from './scene.ts'

const { run, json, service, newProject } = await openCliScene()
service.startWorkers()

const folder = join(root, 'test/imports/files')
const samples = readdirSync(folder, { recursive: true, encoding: 'utf8' }).filter((name) =>
  /\.(csv|json|ndjson)$/.test(name),
)

test.each(samples)(
  'imports %s the same with and without the mapping of the dry run, and once',
  async (name) => {
    const { id } = await newProject()
    const source = /([a-z]+)[\w-]*\.\w+$/.exec(name)![1]!
    const line = ['import', join(folder, name), '--source', source, '-p', id, '--limit', '1000']
    const dry = await json([...line, '--dry-run'])
    const first = await json([...line, '--mapping', JSON.stringify(dry.mapping)])
    expect([first.counts, first.report]).toEqual([dry.counts, dry.report])
    expect(first.counts.created).toBe(first.counts.read)
    const again = await json(line)
    expect(again.counts).toEqual({ ...first.counts, created: 0, unchanged: first.counts.read })
    const shown = await run(['imports', again.id])
    const done = expect.stringMatching(/^Import \S+ done: 0 created, 0 updated/)
    expect([shown.code, shown.err]).toEqual([0, done])
  },
)
