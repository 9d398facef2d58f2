import { head } from './client-code.ts'

/** Calls of a project that compile. */
export const rightProject = `
  import { Docket, type FeedEvent, type Task } from 'docket-client'
  const docket = new Docket({ url: 'http://localhost:3000' })
  export async function use(projectId: string, signal: AbortSignal) {
    const project = docket.project(projectId)
    for await (const event of project.follow({ after: 0, signal, transport: 'poll' })) {
      if (event.type === 'snapshot') event.tasks satisfies Task[]
      else if (event.type === 'task.updated') event.after?.status satisfies 'TODO' | 'IN_PROGRESS' | 'DONE' | undefined
      else if (event.entity === 'comment') event.after?.text satisfies string | undefined
      else event satisfies FeedEvent
    }
    const mirror = project.mirror({ signal })
    await mirror.ready
    const tasks: Map<string, Task> = mirror.tasks
    const { version, results } = await project.batch((b) => {
      const label = b.label.create({ name: 'bug' })
      const frame = b.task.create({ title: 'Cast', labelIds: [label, 'id'], status: 'DONE' })
      const wheels = b.task.create({ title: 'Mount', blockedByIds: [frame], before: frame })
      b.subtask.toggle({ id: b.subtask.create({ taskId: frame, title: 'Order brass' }) })
      b.comment.create({ taskId: 'id', text: 'By Friday' })
      b.task.update({ id: wheels, addLabelIds: [label], ifMatch: '"1"', was: { status: 'TODO' } })
      b.member.setRole({ memberId: 'id', role: 'EDITOR' })
      b.task.delete({ id: frame })
      b.task.claimNext({ leaseSeconds: 60, anyLabel: [label] })
      b.project.update({ name: 'Mill' })
    }, { dryRun: true, ifVersion: 3, idempotencyKey: 'cast' })
    const task: Task | undefined = await project.claimNext({ leaseSeconds: 60, wait: 20, priority: 'HIGH' })
    await project.claimNext()
    await project.claimNext({ wait: 5, signal })
    await docket.views.create({ projectId, name: 'Big', query: { status: 'TODO', 'field.size': 'large' } })
    const target = version ? { seq: 3 } : { batch: 3 }
    await project.undo(target, { dryRun: true })
    await project.work(async (task, { signal }) => docket.tasks.get(task.id, { signal }), {
      ...{ leaseSeconds: 60, concurrency: 2, signal, labels: [''], priority: 'HIGH' },
    })
    await project.batch((b) => b.task.create({ title: 'Oil' }))
    return { tasks, version, id: (results[0] as { id: string }).id, task }
  }
`

/** Calls of a project with one type error each. No call may compile. */
export const wrongProject = [
  `project.follow({ from: 0 })`,
  `project.follow({ transport: 'websocket' })`,
  `project.mirror().get(5)`,
  `project.batch((b) => { b.task.create({ titel: 'Cast' }) })`,
  `project.batch((b) => { b.task.create({}) })`,
  `project.batch((b) => { b.task.create({ title: 5 }) })`,
  `project.batch((b) => { b.task.make({ title: 'Cast' }) })`,
  `project.batch((b) => { b.tasks.create({ title: 'Cast' }) })`,
  `project.batch((b) => { b.subtask.create({ taskId: b.label.create({ name: 'bug' }), title: 'Order' }) })`,
  `project.batch((b) => { b.task.create({ title: 'Cast', labelIds: [b.task.create({ title: 'Mount' })] }) })`,
  `project.batch((b) => { b.subtask.toggle({ id: b.task.create({ title: 'Cast' }) }) })`,
  `project.batch((b) => { b.task.create({ title: b.task.create({ title: 'Cast' }) }) })`,
  `project.batch((b) => { b.task.create({ id: b.task.create({ title: 'Cast' }), title: 'Cast' }) })`,
  `project.batch(() => {}, { dryrun: true })`,
  `project.claimNext({ lease: 5 })`,
  `project.undo({})`,
  `project.undo({ seq: '5' })`,
  `docket.views.create({ projectId, name: 'Late', query: { staus: 'TODO' } })`,
  `docket.views.update('', { query: { status: 'LATE' } })`,
  `project.claimNext({ leaseSeconds: 60, label: '' })`,
  `project.work((task) => task.titel)`,
  `project.work(() => {}, { concurency: 2 })`,
].map((code) => `${head}const project = docket.project(projectId)\nexport const call = ${code}\n`)
