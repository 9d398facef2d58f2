import { type callers, fillPath, type ProjectParts, seqOf, unreachableUrl } from '../kit.ts'

type Role = (typeof callers)[number]

export interface Endpoint {
  title: string
  method: string
  path: (ids: ProjectParts) => string
  body?: (ids: ProjectParts) => object
  allowedRoles: Role[]
  status: number
  resource: string
}

const owners: Role[] = ['owner']
const admins: Role[] = ['owner', 'admin']
const writers: Role[] = ['owner', 'admin', 'editor']
const readers: Role[] = ['owner', 'admin', 'editor', 'viewer']

type Row = [
  resource: string,
  allowedRoles: Role[],
  title: string,
  path: string,
  body?: object | Endpoint['body'],
]
const endpoint =
  (method: string, status: number) =>
  (...[resource, allowedRoles, title, path, body]: Row): Endpoint => {
    const bodyOf = typeof body === 'function' ? (body as Endpoint['body']) : body && (() => body)
    return { resource, allowedRoles, title, method, path: (ids) => fillPath(path, ids), body: bodyOf, status }
  }
const read = endpoint('GET', 200)
const create = endpoint('POST', 201)
const ask = endpoint('POST', 200)
const change = endpoint('PATCH', 200)
const remove = endpoint('DELETE', 200)
const project = '/projects/{id}'
const webhook = `${project}/webhooks/{id}`

export const endpoints: Endpoint[] = [
  read('Project', readers, 'read a project', project),
  change('Project', admins, 'change a project', project, { name: 'Other' }),
  remove('Project', owners, 'delete a project', project),
  ask('Project', writers, 'run a batch', `${project}/batch`, ({ taskId }) => ({
    operations: [
      { op: 'task.create', as: 'new', title: 'T' },
      { op: 'subtask.create', taskId: '#new', title: 'S' },
      { op: 'task.create', title: 'After' },
      { op: 'task.update', id: '#new', was: { status: 'TODO' }, status: taskId && 'DONE' },
    ],
  })),
  ask('Project', writers, 'undo', `${project}/undo`, { seq: seqOf.subtask }),
  read('Project', readers, 'list members', `${project}/members`),
  create('Project', writers, 'create a view', `${project}/views`, { name: 'N', query: { status: 'TODO' } }),
  read('Project', readers, 'list views', `${project}/views`),
  read('View', readers, 'list the tasks of a view', '/views/{id}/tasks'),
  change('View', writers, 'change a view', '/views/{id}', { name: 'Other' }),
  remove('View', writers, 'delete a view', '/views/{id}'),
  create('Project', admins, 'create a field', `${project}/fields`, { key: 'k', name: 'N', type: 'date' }),
  read('Project', readers, 'list fields', `${project}/fields`),
  change('Field', admins, 'change a field', '/fields/{id}', { name: 'N' }),
  remove('Field', admins, 'delete a field', '/fields/{id}'),
  read('Project', readers, 'read the events', `${project}/events`),
  read('Project', readers, "read a project's history", `${project}/history`),
  read('Project', readers, 'export a project', `${project}/export`),
  create('Project', admins, 'create a webhook', `${project}/webhooks`, { url: unreachableUrl }),
  read('Project', admins, 'list webhooks', `${project}/webhooks`),
  read('Project', admins, 'read a webhook', webhook),
  change('Project', admins, 'change a webhook', webhook, { enabled: false }),
  ask('Project', admins, 'rotate the secret of a webhook', `${webhook}/rotate`),
  ask('Project', admins, 'test a webhook', `${webhook}/test`),
  ask('Project', admins, 'replay events to a webhook', `${webhook}/replay`, { after: 0 }),
  read('Project', admins, 'list the deliveries of a webhook', `${webhook}/deliveries`),
  remove('Project', admins, 'delete a webhook', webhook),
  create('Project', admins, 'invite a member', `${project}/members/invite`, (at) => ({
    email: at.inviteeEmail,
  })),
  change('Project', admins, 'set the role of a member', `${project}/members/{id}/role`, { role: 'EDITOR' }),
  remove('Project', admins, 'remove a member', `${project}/members/{id}`),
  create('Project', writers, 'create a task', '/tasks', ({ projectId }) => ({ title: 'T', projectId })),
  read('Project', readers, "list a project's tasks", '/tasks?projectId={projectId}'),
  read('Task', readers, 'read a task', '/tasks/{id}'),
  change('Task', writers, 'change a task', '/tasks/{id}', { status: 'DONE' }),
  ask('Project', writers, 'claim the next task', `${project}/claim-next`, { leaseSeconds: 60 }),
  ask('Task', writers, 'append to a task', '/tasks/{id}/append', { field: 'description', text: 'N' }),
  ask('Task', writers, 'claim a task', '/tasks/{id}/claim', { leaseSeconds: 60 }),
  ask('Task', writers, 'release a task', '/tasks/{id}/release'),
  remove('Task', writers, 'delete a task', '/tasks/{id}'),
  create('Task', writers, 'add a subtask', '/tasks/{id}/subtasks', { title: 'S' }),
  read('Task', readers, 'list subtasks', '/tasks/{id}/subtasks'),
  change('Subtask', writers, 'toggle a subtask', '/tasks/subtasks/{id}/toggle'),
  change('Subtask', writers, 'change a subtask', '/tasks/subtasks/{id}', { completed: true }),
  remove('Subtask', writers, 'delete a subtask', '/tasks/subtasks/{id}'),
  create('Task', writers, 'add a comment', '/tasks/{id}/comments', { text: 'C' }),
  read('Task', readers, 'list comments', '/tasks/{id}/comments'),
  read('Task', readers, "read a task's history", '/tasks/{id}/history'),
  change('Comment', ['editor'], "edit the editor's comment", '/tasks/comments/{id}', { text: 'Fast' }),
  create('Project', writers, 'create a label', `${project}/labels`, { name: 'N' }),
  read('Project', readers, 'list labels', `${project}/labels`),
  change('Label', writers, 'change a label', '/labels/{id}', { color: '#d73a4a' }),
  remove('Label', writers, 'delete a label', '/labels/{id}'),
  remove('Comment', writers, "delete the editor's comment", '/tasks/comments/{id}'),
]
