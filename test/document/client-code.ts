const head = `
  import createClient from 'openapi-fetch'
  import type { components, operations, paths } from './api'
  type Schemas = components['schemas']
  const api = createClient<paths, 'application/json'>({ baseUrl: 'http://localhost:3000' })
`

export const right = `${head}
  export async function use(projectId: string) {
    const body: Schemas['CreateTask'] = { projectId, title: 'Draw', status: 'IN_PROGRESS', dueDate: null }
    const created = await api.POST('/api/v1/tasks', {
      body,
      params: { header: { 'Idempotency-Key': 'draw' } },
    })
    if (created.error) throw new Error(created.error.message satisfies string)
    const task: Schemas['Task'] = created.data
    const status: 'TODO' | 'IN_PROGRESS' | 'DONE' = task.status
    const due: string | null = task.dueDate
    const path = { id: task.id }
    // A client may send back a resource that it has read.
    await api.PATCH('/api/v1/tasks/{id}', { params: { path }, body: { ...task, priority: 'HIGH' } })
    const query: operations['listTasks']['parameters']['query'] = { limit: 20, sort: '-dueDate', status }
    const listed: Schemas['Task'][] | undefined = (await api.GET('/api/v1/tasks', { params: { query } })).data
    const { data } = await api.GET('/api/v1/tasks/{id}/comments', { params: { path, query: { limit: 20 } } })
    const author: string | undefined = data?.[0]?.author?.name
    const { data: project } = await api.GET('/api/v1/projects/{id}', { params: { path: { id: projectId } } })
    const owner: Schemas['User'] | null | undefined = project?.owner
    const { data: member } = await api.POST('/api/v1/projects/{id}/members/invite', {
      params: { path: { id: projectId } },
      body: { email: 'grace@example.com', role: 'EDITOR' },
    })
    const role: Schemas['Role'] | undefined = (member satisfies Schemas['Member'] | undefined)?.role
    const { data: events } = await api.GET('/api/v1/projects/{id}/events', {
      params: { path: { id: projectId }, query: { after: 41, types: 'task.created' } },
    })
    const type: Schemas['EventType'] | undefined = events?.[0]?.type
    const { data: subtask } = await api.PATCH('/api/v1/tasks/subtasks/{id}/toggle', { params: { path } })
    const completed: boolean | undefined = (subtask satisfies Schemas['Subtask'] | undefined)?.completed
    const { error } = await api.DELETE('/api/v1/tasks/{id}', { params: { path } })
    const failure: Schemas['Error'] | undefined = error
    return { due, listed, author, owner, role, type, completed, failure }
  }
`

/** Snippets with one error each, none of which may compile. */
export const wrong = [
  `export const body: Schemas['CreateTask'] = { projectId: '', title: '', asignee: '' }`,
  `export const body: Schemas['UpdateTask'] = { titel: '' }`,
  `export const body: Schemas['CreateTask'] = { projectId: '', title: '', status: 'DOING' }`,
  `export const body: Schemas['InviteMember'] = { email: '', role: 'OWNER' }`,
  `export const made = api.POST('/api/v1/tasks', { body: { projectId: '', titel: '' } })`,
  `export const made = api.POST('/api/v1/projects', { body: {} })`,
  `export const listed = api.GET('/api/v1/tasks', { params: { query: { limits: 20 } } })`,
  `export const listed = api.GET('/api/v1/tasks', { params: { query: { limit: '20' } } })`,
  `export const listed = api.GET('/api/v1/tasks', { params: { query: { sort: 'title' } } })`,
  `export const read = api.GET('/api/v1/tasks/{id}')`,
  `export const read = (task: Schemas['Task']) => task.titel`,
  `export const read = (task: Schemas['Task']): string => task.assigneeId`,
].map((code) => head + code)
