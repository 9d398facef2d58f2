import { readdirSync } from 'node:fs'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { root } from '../kit.ts'
import { openCliScene } from './scene.ts'

const { run, json, home, service } = await openCliScene()
service.startWorkers()

const folder = join(root, 'test/imports/files')
const samples = readdirSync(folder, { recursive: true, encoding: 'utf8' }).filter((name) =>
  /\.(csv|json|ndjson)$/.test(name),
)
const sourceOf = (name: string) => /([a-z]+)[\w-]*\.\w+$/.exec(name)![1]!

test.each(samples)(
  'imports %s the same with and without the mapping of the dry run, and only once',
  async (name) => {
    const { id } = await json(['projects', '--create', name])
    const line = ['import', join(folder, name), '--source', sourceOf(name), '-p', id, '--limit', '1000']
    const dry = await json([...line, '--dry-run'])
    const mapping = join(home, 'mapping.json')
    await writeFile(mapping, JSON.stringify(dry.mapping))
    const first = await json([...line, '--mapping', mapping])
    expect(first.counts).toEqual(dry.counts)
    expect(first.report).toEqual(dry.report)
    expect(first.counts.created).toBe(first.counts.read)
    const again = await json(line)
    expect(again.counts).toEqual({ ...first.counts, created: 0, unchanged: first.counts.read })
    const shown = await run(['imports', again.id])
    expect([shown.code, shown.err]).toEqual([
      0,
      expect.stringMatching(/^Import \S+ done: 0 created, 0 updated/),
    ])
  },
)
