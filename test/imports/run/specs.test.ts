import { expect, test } from 'bun:test'
import type { ImportedItem } from '../../../modules/imports/items.ts'
import { unavailable } from '../../../src/responses/errors.ts'
import { openRunImport } from '../../../workers/imports/run-import.ts'
import { SliceEnded } from '../../../workers/throttle.ts'
import { upTo } from '../../races/pair.ts'
import { invite, make, type Person } from '../../support/client.ts'
import { task } from './items.ts'
import { fast, fileOf, lineReader, openRunScene } from './scene.ts'

const {
  newProject,
  importItems,
  queue,
  work,
  undo,
  resultOf,
  services,
  sql,
  client: _,
} = await openRunScene()

const items: ImportedItem[] = [
  { kind: 'field', row: 1, key: 'size', name: 'Size', type: 'number' },
  { kind: 'field', row: 1, key: 'shape', name: 'Shape', type: 'text' },
  task('1', { labels: ['bug'], fields: { size: 1 } }),
  task('2', { labels: ['old', 'bug'], fields: { shape: 'round' } }),
]

/** Runs an import until its first batch is committed, but not recorded. */
async function killAfterCommit(id: string) {
  const killed = openRunImport(
    {
      ...services,
      runHere: async (request) => {
        await services.runHere(request)
        throw unavailable('killed')
      },
    },
    { readers: { planka: lineReader } },
  )
  await expect(killed({ importId: id }, fast)).rejects.toBeInstanceOf(SliceEnded)
}

async function namesOf(owner: Person, projectId: string) {
  const labels = (await owner.get(`/projects/${projectId}/labels`)).body
  const fields = (await owner.get(`/projects/${projectId}/fields`)).body
  return [...labels, ...fields].map(({ name }) => String(name)).sort()
}

/** Returns the labels of each task. */
const labelsOf = async (projectId: string) => {
  const tasks = await sql<{ labels: string[] }[]>`
    select array(select name from labels where id = any(t.label_ids) order by name) as labels
    from tasks t where project_id = ${projectId} order by number`
  return tasks.map(({ labels }) => labels)
}

/** The label `bug` exists before the import, so its result has another id than its operation. */
const expectResult = async (owner: Person, projectId: string, id: string) => {
  expect(await resultOf(id)).toMatchObject({ state: 'done', counts: { created: 2, rejected: 0 }, lines: [] })
  expect(await labelsOf(projectId)).toEqual([['bug'], ['bug', 'old']])
  expect(await undo(owner, id)).toEqual({ undoState: 'done', undone: 2, kept: 0, lines: [] })
  expect(await namesOf(owner, projectId)).toEqual(['bug'])
}

test('a repeated batch of fields and labels gets the stored results of the same rows', async () => {
  const { owner, projectId } = await newProject()
  await make(owner, `/projects/${projectId}/labels`, { name: 'bug' })
  const id = await queue(owner, projectId, fileOf(items))
  await killAfterCommit(id)
  await work(id)
  await expectResult(owner, projectId, id)
})

test('reports a field whose type in the project is another, to an ADMIN and to an EDITOR', async () => {
  const { owner, projectId } = await newProject()
  const { owner: editor } = await newProject()
  await invite(owner, projectId, editor, 'EDITOR')
  for (const [key, type] of [
    ['size', 'date'],
    ['shape', 'number'],
  ])
    await make(owner, `/projects/${projectId}/fields`, { key, name: key, type })
  for (const person of [owner, editor])
    expect((await importItems(person, projectId, items)).lines).toContainEqual({
      ...{ row: null, externalId: null, outcome: 'unchanged' },
      message: 'The field "Size": The field of the project has the type date, and not number',
    })
})

test('a dry run with more labels than a project can have has the report of the later import', async () => {
  const { owner, projectId } = await newProject()
  const tasks = upTo(600).map((n) => task(String(n), { labels: [`label ${n}`] }))
  const { id: _, ...dry } = await importItems(owner, projectId, tasks, { dryRun: true })
  const { id: __, ...real } = await importItems(owner, projectId, tasks)
  expect(real.lines.filter(({ message }) => message.includes('at most 500 labels'))).toHaveLength(100)
  expect(dry).toEqual(real)
})
