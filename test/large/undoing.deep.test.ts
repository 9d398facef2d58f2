import { unassignTasks } from '../../modules/tasks/commands.ts'
import { type Body, invite, make, register, versionOf, workerActor } from '../kit.ts'
import { openLarge } from './fill.ts'
import { type Cost, costOf } from './plans.ts'

const { service, owner: ada, large, small } = await openLarge()
const bea = await register(service.client)

const version = ({ id }: Body) => versionOf(ada, id)

async function undoLast(project: Body): Promise<Cost[]> {
  const costs: Cost[] = []
  for (const _ of ['undo', 'redo']) {
    const before = await version(project)
    const [{ batch }] = await service.services.database.reads<[{ batch: number | null }]>`
      select batch::float8 as batch from events where project_id = ${project.id} and seq = ${before}`
    const body = batch === null ? { seq: before } : { batch }
    costs.push(
      await costOf(async () =>
        expect(await ada.post(`/projects/${project.id}/undo`, body)).toMatchObject({ status: 200 }),
      ),
    )
  }
  return costs
}

async function costsIn(project: Body): Promise<Cost[]> {
  const projectId = project.id
  const all: Cost[] = []
  const task = await make(ada, '/tasks', { title: 'T', projectId })
  all.push(...(await undoLast(project)))
  await ada.patch(`/tasks/${task.id}`, { title: 'Other' })
  all.push(...(await undoLast(project)))
  await make(ada, `/tasks/${task.id}/subtasks`, { title: 'S' })
  await make(ada, `/tasks/${task.id}/comments`, { text: 'C' })
  await ada.delete(`/tasks/${task.id}`)
  all.push(...(await undoLast(project)))
  const member = await invite(ada, projectId, bea)
  const theirs = await make(ada, '/tasks', { title: 'Hers', projectId, assigneeId: bea.id })
  await ada.delete(`/projects/${projectId}/members/${member.id}`)
  const seq = await version(project)
  const input = { projectId, userId: bea.id, ids: [theirs.id] }
  await service.services.run({ name: unassignTasks.name, input, caller: { userId: workerActor } })
  const undo = (body: object) => ada.post(`/projects/${projectId}/undo`, body)
  all.push(await costOf(async () => expect((await undo({ seq })).status).toBe(200)))
  expect((await ada.get(`/tasks/${theirs.id}`)).body.assigneeId).toBe(bea.id)
  await ada.patch(`/tasks/${theirs.id}`, { title: 'One' })
  const overtaken = await version(project)
  await ada.patch(`/tasks/${theirs.id}`, { title: 'Two' })
  all.push(await costOf(async () => expect((await undo({ seq: overtaken })).status).toBe(409)))
  return all
}

test('in a large project, an undo, a redo and a rejected undo cost as much as in a small project', async () => {
  const inLarge = await costsIn(large)
  for (const [i, cost] of (await costsIn(small)).entries()) {
    expect([i, inLarge[i]!.scans]).not.toEqual([i, expect.arrayContaining(['Seq Scan'])])
    expect([i, inLarge[i]!.rows <= cost.rows]).toEqual([i, true])
    // Indexes of a million rows are two or three levels deeper than those of ten.
    expect(inLarge[i]!.blocks).toBeLessThanOrEqual(cost.blocks * 2 + 30)
  }
})
