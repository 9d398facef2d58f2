/** The first lines of each program: they open a client. */
export const head = `
  import { Docket } from 'docket-client'
  const docket = new Docket({ url: 'http://localhost:3000', token: async () => 'token' })
  const projectId = ''
`

export const right = `
  import { Docket, etagOf, NotFoundError } from 'docket-client'
  import type { Comment, Event, Member, Message, Role, Subtask, Task } from 'docket-client'
  const docket = new Docket({ url: new URL('http://localhost:3000'), token: 'token', deadlineMs: 5_000, fetch })
  export async function use(projectId: string, signal: AbortSignal) {
    const options = { signal, deadlineMs: 1_000, idempotencyKey: 'draw' }
    const task: Task = await docket.tasks.create({ projectId, title: 'Draw', status: 'DONE', dueDate: null }, options)
    const status: 'TODO' | 'IN_PROGRESS' | 'DONE' = task.status
    const due: string | null = task.dueDate
    // A client may send back a resource that it has read.
    await docket.tasks.update(task.id, { ...task, priority: 'HIGH' }, { ifMatch: etagOf(task), ifClaim: task })
    const earlier: Task = await docket.tasks.get(task.id, { asOf: 8, signal })
    const rows: Task[] = await docket.tasks.list({ limit: 20, sort: '-dueDate', ready: true, labels: ['', ''] })
    const byField = docket.tasks.list({ projectId, 'field.estimate.min': 2 }, { signal })
    const ended = await docket.tasks.list({ projectId, signal, deadlineMs: 1_000 })
    for await (const { title } of byField) title satisfies string
    const all: Task[] = await docket.tasks.list().all()
    const step: Subtask = await docket.subtasks.create({ taskId: task.id, title: 'Sharpen' })
    const { completed }: Subtask = await docket.subtasks.toggle(step.id)
    const comments: Comment[] = await docket.comments.list({ taskId: task.id, limit: 20 })
    const author: string | undefined = comments[0]?.author?.name
    const member: Member = await docket.members.create({ projectId, email: 'grace@example.com', role: 'EDITOR' })
    await docket.members.delete(member.id, { projectId, revoke: true, ifMatch: member })
    const role: Role = member.role
    const [event]: Event[] = await docket.events.list({ projectId, after: 41, types: ['task.created'] })
    const mapping = { statuses: { Doing: 'IN_PROGRESS' as const, Ideas: null } }
    const { id } = await docket.imports.create(new Blob(), { projectId, source: 'csv', dryRun: true, mapping }, options)
    for await (const { counts } of docket.imports.follow(id, { signal })) counts.read satisfies number
    const deleted: Message = await docket.tasks.delete(task.id, { ifMatch: task })
    const nothing: undefined = await docket.tokens.delete('')
    await docket.tasks.delete(task.id, {}, { ifMatch: task, signal })
    await docket.account.delete()
    const failed = await docket.tasks.get('').catch((error: unknown) => error instanceof NotFoundError)
    return { ended, status, due, earlier, rows, all, completed, author, role, event, deleted, nothing, failed }
  }
`

/** Calls with one type error each. No call may compile. */
export const wrong = [
  `docket.tasks.create({ projectId, titel: 'Draw' })`,
  `docket.tasks.create({ projectId, title: 'Draw', asignee: '' })`,
  `docket.tasks.create({ projectId, title: 5 })`,
  `docket.tasks.create({ projectId, title: 'Draw', status: 'DOING' })`,
  `docket.tasks.create({ title: 'Draw' })`,
  `docket.tasks.create()`,
  `docket.tasks.update('', { staus: 'DONE' })`,
  `docket.tasks.update('', { status: 'DONE', priority: 1 })`,
  `docket.tasks.update({ status: 'DONE' })`,
  `docket.tasks.update('', { status: 'DONE' }, { ifmatch: '' })`,
  `docket.imports.create('', { projectId, source: 'excel' })`,
  `docket.imports.create('', { projectId, source: 'csv', mapping: { colums: {} } })`,
  `docket.imports.create('', { projectId, source: 'csv', file: '' })`,
  `docket.tasks.list({ limits: 20 })`,
  `docket.tasks.list({ limit: '20' })`,
  `docket.tasks.list({ sort: 'title' })`,
  `docket.tasks.list({ staus: 'DONE' })`,
  `docket.tasks.list({ projectId: 5 })`,
  `docket.tasks.list({ ready: false })`,
  `docket.tasks.get()`,
  `docket.tasks.get('', { asof: 5 })`,
  `docket.tasks.get('', { ifMatch: '' })`,
  `docket.tasks.list({ signals: undefined })`,
  `docket.tasks.delete('', { revoke: true })`,
  `docket.tasks.get('').then((task) => task.titel)`,
  `docket.tasks.get('').then((task): string => task.assigneeId)`,
  `docket.subtasks.create({ title: 'Sharpen' })`,
  `docket.subtasks.create({ taskid: '', title: 'Sharpen' })`,
  `docket.comments.create({ taskId: '', texts: 'In brass' })`,
  `docket.comments.list()`,
  `docket.members.create({ projectId, email: '', role: 'OWNER' })`,
  `docket.members.update('', { role: 'EDITOR' })`,
  `docket.labels.create({ projectId, name: 'bug', colour: '' })`,
  `docket.webhooks.create({ projectId, uri: '' })`,
  `docket.tokens.create({ name: 'T', scopes: ['all'], expiresAt: '' })`,
  `docket.account.register({ name: '', email: '' })`,
  `docket.project(projectId).undo({ seqq: 5 })`,
  `docket.project(projectId).history({ entities: 'task' })`,
  `new Docket({ uri: '' })`,
].map((code) => `${head}export const call = ${code}\n`)
