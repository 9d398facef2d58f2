import { type callers, nowhere, seqOf, type Things } from './scene.ts'

type Who = (typeof callers)[number]

/** A guarded operation on something that a project holds, and who may do it. */
export interface Endpoint {
  does: string
  method: string
  path: (things: Things) => string
  body?: (things: Things) => object
  may: Who[]
  status: number
  /** What a refusal says was not found. */
  names: string
}

const owners: Who[] = ['owner']
const admins: Who[] = ['owner', 'admin']
const writers: Who[] = ['owner', 'admin', 'editor']
const readers: Who[] = ['owner', 'admin', 'editor', 'viewer']

type Rest = [names: string, may: Who[], does: string, path: Endpoint['path'], body?: Endpoint['body']]
const endpoint = (method: string, status: number, [names, may, does, path, body]: Rest): Endpoint => {
  return { does, method, path, body, may, status, names }
}
const read = (...rest: Rest) => endpoint('GET', 200, rest)
const create = (...rest: Rest) => endpoint('POST', 201, rest)
const ask = (...rest: Rest) => endpoint('POST', 200, rest)
const change = (...rest: Rest) => endpoint('PATCH', 200, rest)
const remove = (...rest: Rest) => endpoint('DELETE', 200, rest)

const inProject =
  (path = '') =>
  ({ projectId }: Things) =>
    `/projects/${projectId}${path}`
const inTask =
  (path = '') =>
  ({ taskId }: Things) =>
    `/tasks/${taskId}${path}`
const member =
  (path = '') =>
  ({ projectId, memberId }: Things) =>
    `/projects/${projectId}/members/${memberId}${path}`
const subtask =
  (path = '') =>
  ({ subtaskId }: Things) =>
    `/tasks/subtasks/${subtaskId}${path}`
const webhook =
  (path = '') =>
  ({ projectId, webhookId }: Things) =>
    `/projects/${projectId}/webhooks/${webhookId}${path}`
const comment = ({ commentId }: Things) => `/tasks/comments/${commentId}`

/** Every operation that takes a role, with the roles of the contract. */
export const endpoints: Endpoint[] = [
  read('Project', readers, 'read a project', inProject()),
  change('Project', admins, 'change a project', inProject(), () => ({ name: 'Other' })),
  remove('Project', owners, 'delete a project', inProject()),
  ask('Project', writers, 'do many writes at once', inProject('/batch'), ({ taskId }) => ({
    operations: [
      { op: 'task.create', as: 'new', title: 'T' },
      { op: 'subtask.create', taskId: '#new', title: 'S' },
      { op: 'task.create', title: 'After' },
      { op: 'task.update', id: '#new', was: { status: 'TODO' }, status: taskId && 'DONE' },
    ],
  })),
  ask('Project', writers, 'undo', inProject('/undo'), () => ({ seq: seqOf.subtask })),
  read('Project', readers, 'list members', inProject('/members')),
  read('Project', readers, 'read the events', inProject('/events')),
  read('Project', readers, "read a project's history", inProject('/history')),
  create('Project', admins, 'make a webhook', inProject('/webhooks'), () => ({ url: nowhere })),
  read('Project', admins, 'list webhooks', inProject('/webhooks')),
  read('Project', admins, 'read a webhook', webhook()),
  change('Project', admins, 'change a webhook', webhook(), () => ({ enabled: false })),
  ask('Project', admins, 'rotate the secret of a webhook', webhook('/rotate')),
  ask('Project', admins, 'test a webhook', webhook('/test')),
  ask('Project', admins, 'replay events to a webhook', webhook('/replay'), () => ({ after: 0 })),
  read('Project', admins, 'list the deliveries of a webhook', webhook('/deliveries')),
  remove('Project', admins, 'delete a webhook', webhook()),
  create('Project', admins, 'invite', inProject('/members/invite'), (at) => ({ email: at.inviteeEmail })),
  change('Project', admins, 'set a role', member('/role'), () => ({ role: 'EDITOR' })),
  remove('Project', admins, 'remove a member', member()),
  create(
    'Project',
    writers,
    'create a task',
    () => '/tasks',
    ({ projectId }) => ({ title: 'T', projectId }),
  ),
  read('Project', readers, "list a project's tasks", ({ projectId }) => `/tasks?projectId=${projectId}`),
  read('Task', readers, 'read a task', inTask()),
  change('Task', writers, 'change a task', inTask(), () => ({ status: 'DONE' })),
  remove('Task', writers, 'delete a task', inTask()),
  create('Task', writers, 'add a subtask', inTask('/subtasks'), () => ({ title: 'S' })),
  read('Task', readers, 'list subtasks', inTask('/subtasks')),
  change('Subtask', writers, 'toggle a subtask', subtask('/toggle')),
  change('Subtask', writers, 'change a subtask', subtask(), () => ({ completed: true })),
  remove('Subtask', writers, 'delete a subtask', subtask()),
  create('Task', writers, 'add a comment', inTask('/comments'), () => ({ text: 'C' })),
  read('Task', readers, 'list comments', inTask('/comments')),
  read('Task', readers, "read a task's history", inTask('/history')),
  change('Comment', ['editor'], "edit the editor's comment", comment, () => ({ text: 'Fast' })),
  remove('Comment', writers, "delete the editor's comment", comment),
]
