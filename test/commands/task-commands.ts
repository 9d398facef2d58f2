import { eventually } from '../kit.ts'

type RunCommand = (name: string, input: object) => Promise<{ id: string }>

function rethrowUnless400(error: { status?: number }): false {
  if (error.status === 400) return false
  throw error
}

/** Runs the commands of labels, fields, views, external ids, claims and reminders. */
export async function runTaskCommands(run: RunCommand, projectId: string): Promise<void> {
  const label = await run('label.create', { projectId, name: 'bug' })
  await run('label.update', { id: label.id, name: 'fault' })
  const field = await run('field.create', { projectId, key: 'size', name: 'Size', type: 'number' })
  await run('field.update', { id: field.id, name: 'Length' })
  const view = await run('view.create', { projectId, name: 'Faults', query: { labels: label.id } })
  await run('view.update', { id: view.id, name: 'Bugs' })
  await run('view.delete', { id: view.id })
  const blocker = await run('task.upsert', { projectId, externalId: 'A', title: 'Blocker' })
  const fields = { labelIds: [label.id], fields: { size: 3 }, blockedByIds: [blocker.id] }
  const task = await run('task.upsert', { projectId, externalId: 'B', title: 'T', ...fields })
  await run('task.upsert', { projectId, externalId: 'B', title: 'U' })
  await run('task.claim', { id: task.id, leaseSeconds: 60 })
  await run('task.release', { id: task.id })
  await run('task.claim_next', { projectId, leaseSeconds: 60 })
  let remindAt = ''
  // The reminder must come due in the test. After a pause of the process, the time has passed, so a later time is sent.
  await eventually('the update of the reminder', () => {
    remindAt = new Date(Date.now() + 2_000).toISOString()
    return run('task.update', { id: task.id, remindAt }).then(() => true, rethrowUnless400)
  })
  await eventually('the time of the reminder', () => new Date().toISOString() > remindAt)
  await run('task.record_times', { projectId, ids: [task.id] })
  await run('field.delete', { id: field.id })
  await run('label.delete', { id: label.id })
  await run('task.update', { id: task.id, title: 'V' })
}
