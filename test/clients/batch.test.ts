import { BadRequestError, PreconditionFailedError } from '../../clients/typescript/src/errors.ts'
import { openClientScene } from './scene.ts'

const { docket } = await openClientScene()

async function newProject() {
  const { id } = await docket.projects.create({ name: 'Engine' })
  return { id, project: docket.project(id) }
}

test('a batch commits its operations together, and replaces references by new ids', async () => {
  const { id, project } = await newProject()
  const { version, results } = await project.batch(async (b) => {
    const label = b.label.create({ name: 'bug' })
    const frame = b.task.create({ title: 'Cast', labelIds: [label] })
    const wheels = b.task.create({ title: 'Mount', blockedByIds: [frame], before: frame })
    await Promise.resolve()
    b.subtask.toggle({ id: b.subtask.create({ taskId: frame, title: 'Order brass' }) })
    b.task.update({ id: wheels, fields: {}, dueDate: null, status: 'IN_PROGRESS' })
    b.task.claimNext({ leaseSeconds: 60, anyLabel: [label] })
  })
  expect([version, results.length]).toEqual([8, 7])
  const [label, frame, wheels] = results as { id: string }[]
  expect(await docket.tasks.list({ projectId: id, sort: 'position' })).toMatchObject([
    { id: wheels!.id, blockedByIds: [frame!.id], status: 'IN_PROGRESS' },
    { id: frame!.id, labelIds: [label!.id], claim: { seq: 8 } },
  ])
})

test('a dry run commits nothing, and ifVersion and rejected operations reject the batch', async () => {
  const { id, project } = await newProject()
  const add = (b: Parameters<Parameters<typeof project.batch>[0]>[0]) => b.task.create({ title: 'Cast' })
  expect(await project.batch(add, { dryRun: true, return: 'full' })).toMatchObject({
    ...{ version: 1, results: [{ title: 'Cast', projectId: id }] },
  })
  await expect(project.batch(add, { ifVersion: 9 })).rejects.toBeInstanceOf(PreconditionFailedError)
  const invalid = project.batch((b) => {
    add(b)
    b.task.create({ title: '' })
  })
  await expect(invalid).rejects.toThrow('operations[1]: title')
  await expect(invalid).rejects.toBeInstanceOf(BadRequestError)
  expect(await docket.tasks.list({ projectId: id })).toEqual([])
  const [first, second] = [
    await project.batch(add, { idempotencyKey: 'cast' }),
    await project.batch(add, { idempotencyKey: 'cast' }),
  ]
  expect(second).toEqual(first)
})

test('a reference cannot be used in another batch', async () => {
  const { project } = await newProject()
  await project.batch(async (b) => {
    const task = b.task.create({ title: 'Cast' })
    const other = project.batch((c) => c.subtask.create({ taskId: task, title: 'Order' }))
    await expect(other).rejects.toBeInstanceOf(TypeError)
  })
})
