import type { Import } from '../../clients/typescript/src/schemas.ts'
import { openClientScene } from './scene.ts'

const { docket, service } = await openClientScene()
service.startWorkers()
const file = 'Title,List\nDraw the plate,Doing\nOil the wheels,Workshop\n'

const newProject = async () => (await docket.projects.create({ name: 'Engine' })).id

async function lastOf(progress: AsyncIterable<Import>): Promise<Import> {
  let last: Import | undefined
  for await (const one of progress) last = one
  return last!
}

test('imports a file, follows the import to its end, and undoes it', async () => {
  const projectId = await newProject()
  const dry = await docket.imports.create(file, { projectId, source: 'csv', dryRun: true })
  const proposed = await lastOf(docket.imports.follow(dry.id))
  expect(proposed).toMatchObject({ state: 'done', dryRun: true, counts: { created: 2 } })
  const mapping = { ...proposed.mapping, statuses: { Workshop: 'IN_PROGRESS' as const } }
  const { id } = await docket.imports.create(new Blob([file]), { projectId, source: 'csv', mapping })
  expect(await lastOf(docket.imports.follow(id))).toMatchObject({ id, state: 'done', counts: { created: 2 } })
  const tasks = await docket.tasks.list({ projectId, status: 'IN_PROGRESS' })
  expect(tasks.map(({ title }) => title)).toEqual(['Draw the plate', 'Oil the wheels'])
  expect((await docket.imports.list({ projectId })).map((one) => one.id)).toEqual([id, dry.id])
  expect(await docket.imports.report(id).all()).toBeArray()
  expect((await docket.imports.undo(id)).undo).toMatchObject({ state: 'done' })
  expect(await docket.tasks.list({ projectId })).toEqual([])
  expect((await docket.imports.get(id)).undo).toMatchObject({ kept: 0 })
  await expect(docket.imports.cancel(id)).rejects.toMatchObject({ name: 'ConflictError' })
})

test('a rejected file and an unknown import throw errors of the service', async () => {
  const projectId = await newProject()
  const wrong = docket.imports.create('', { projectId, source: 'csv' })
  await expect(wrong).rejects.toMatchObject({ status: 400, message: 'The file is empty' })
  const unknown = lastOf(docket.imports.follow('019a2b3c-4d5e-7f60-8a9b-0c1d2e3f4a5b'))
  await expect(unknown).rejects.toMatchObject({ status: 404 })
})

test('follow yields each change, and ends when its signal aborts', async () => {
  // Without workers, the import remains queued.
  const { docket, service } = await openClientScene()
  const { id: projectId } = await docket.projects.create({ name: 'Engine' })
  const { id } = await docket.imports.create(file, { projectId, source: 'csv' })
  const end = new AbortController()
  const seen: number[] = []
  const following = (async () => {
    for await (const { progress } of docket.imports.follow(id, { signal: end.signal })) {
      if (seen.push(progress) === 2) end.abort(new Error('enough'))
      await service.services.database.background`update imports set progress = 0.5 where id = ${id}`
    }
  })()
  await expect(following).rejects.toThrow('enough')
  expect(seen).toEqual([0, 0.5])
})
