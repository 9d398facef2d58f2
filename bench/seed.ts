import { fresh, get, type Plan, type PlannedRequest, post, send } from './load.ts'
import { eachOf, numbers } from './probe.ts'

const [users, projectsEach, tasksEach] = [50, 20, 20]

export interface Owner {
  token: string
  ownerId: string
}

/** A project, or a task of one, with the token of its owner. */
export interface ResourceRef extends Owner {
  id: string
  projectId: string
}

/** Each of 50 users owns 20 projects of 20 tasks. */
export interface World {
  url: string
  projects: ResourceRef[]
  tasks: ResourceRef[]
}

/** Registers a user with a new address. */
export async function newUser(url: string): Promise<Owner> {
  const account = { name: 'Grace', email: `bench-${crypto.randomUUID()}@example.com`, password: 'secret-1' }
  const { body } = await send(url, post('/auth/register', '', account))
  return { token: body.access_token, ownerId: body.user.id }
}

export async function newProject(url: string, owner: Owner): Promise<ResourceRef> {
  const project = { name: 'Project', description: 'To be measured' }
  const { id } = (await send(url, post('/projects', owner.token, project))).body
  return { ...owner, id, projectId: id }
}

export async function newTask(url: string, project: ResourceRef): Promise<ResourceRef> {
  return { ...project, id: (await send(url, createOf(project))).body.id }
}

export async function seed(url: string): Promise<World> {
  const owners = await eachOf(numbers(users), () => newUser(url))
  const projects = await eachOf(numbers(users * projectsEach), (n) => newProject(url, owners[n % users]!))
  const tasks = await eachOf(numbers(projects.length * tasksEach), (n) =>
    newTask(url, projects[n % projects.length]!),
  )
  return { url, projects, tasks }
}

export const getTask = ({ id, token }: ResourceRef) => get(`/tasks/${id}`, token)
export const listTasks = ({ id, token }: ResourceRef) => get(`/tasks?projectId=${id}&limit=20`, token)

export const createOf = ({ projectId, token }: ResourceRef) =>
  post('/tasks', token, { title: `Task ${fresh}`, description: 'To be measured', projectId })

/** The title is the same in each request: a request contains one number that differs. */
export const keyedCreateOf = ({ projectId, token }: ResourceRef): PlannedRequest => ({
  ...post('/tasks', token, { title: 'Task 123456789', description: 'To be measured', projectId }),
  headers: { 'idempotency-key': `0199b6a4-5c1e-7000-8000-000${fresh}` },
})

export const renameOf = ({ id, token }: ResourceRef): PlannedRequest => ({
  ...{ method: 'PATCH', path: `/tasks/${id}`, token, body: { title: `Patched ${fresh}` } },
})

/** The requests of a tracker's users. */
export const trackerMix = ({ projects, tasks }: World): Plan => [
  { share: 65, status: 200, requests: tasks.map(getTask) },
  { share: 23, status: 200, requests: projects.map(listTasks) },
  { share: 9, status: 200, requests: projects.map(({ token }) => get('/projects', token)) },
  { share: 3, status: 201, requests: projects.map(createOf) },
]
