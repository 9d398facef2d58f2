import type postgres from 'postgres'
import { openClient } from '../test/support/client.ts'
import { fresh, type Plan, type PlannedRequest } from './load.ts'
import { eachOf, numbers } from './probe.ts'

const [users, projectsEach, tasksEach] = [50, 20, 20]

/** A project, or a task of one, with the token of its owner. */
export interface ResourceRef {
  id: string
  projectId: string
  token: string
  ownerId: string
}

/** Each of 50 users owns 20 projects of 20 tasks. */
export interface World {
  url: string
  projects: ResourceRef[]
  tasks: ResourceRef[]
}

/** Sends a create. @throws Error unless it is answered 201 */
export async function make(url: string, token: string | undefined, path: string, body: unknown) {
  const answer = await openClient(url, token).post(path, body)
  if (answer.status !== 201) throw new Error(`POST ${path} was answered ${answer.status} ${answer.text}`)
  return answer.body
}

/** Registers a user with a new address. */
export async function newUser(url: string): Promise<Pick<ResourceRef, 'token' | 'ownerId'>> {
  const email = `bench-${crypto.randomUUID()}@example.com`
  const { access_token, user } = await make(url, undefined, '/auth/register', {
    ...{ name: 'Grace', email, password: 'secret-1' },
  })
  return { token: access_token, ownerId: user.id }
}

export async function newProject(
  url: string,
  owner: Pick<ResourceRef, 'token' | 'ownerId'>,
): Promise<ResourceRef> {
  const { id } = await make(url, owner.token, '/projects', { name: 'Project', description: 'To be measured' })
  return { ...owner, id, projectId: id }
}

export async function seed(url: string): Promise<World> {
  const owners = await eachOf(numbers(users), () => newUser(url))
  const projects = await eachOf(numbers(users * projectsEach), (n) => newProject(url, owners[n % users]!))
  const tasks = await eachOf(numbers(projects.length * tasksEach), async (n) => {
    const project = projects[n % projects.length]!
    const body = { title: `Task ${n}`, description: 'To be measured', projectId: project.id }
    return { ...project, id: (await make(url, project.token, '/tasks', body)).id }
  })
  return { url, projects, tasks }
}

/** Stores the ids for pgbench, as constant arrays in SQL, so that choosing one costs nothing. */
export async function seedLimits(sql: postgres.Sql, { projects, tasks }: World): Promise<void> {
  const arrays = {
    projects: projects.map(({ id }) => id),
    owners: projects.map(({ ownerId }) => ownerId),
    tasks: tasks.map(({ id }) => id),
    task_projects: tasks.map(({ projectId }) => projectId),
    task_owners: tasks.map(({ ownerId }) => ownerId),
  }
  await sql.unsafe(`create schema bench;
    create table bench.arrays (name text primary key, ids uuid[] not null);
    alter table bench.arrays alter ids set storage external`)
  for (const [name, ids] of Object.entries(arrays)) {
    await sql`insert into bench.arrays values (${name}, ${ids}::uuid[])`
    await sql.unsafe(`create function bench.${name}() returns uuid[] immutable language sql
      as $$ select ids from bench.arrays where name = '${name}' $$`)
  }
}

export const getFrom =
  (prefix: string) =>
  ({ id, token }: ResourceRef): PlannedRequest => ({ method: 'GET', path: prefix + id, token })
export const getTask = getFrom('/tasks/')

export const listTasks = ({ id, token }: ResourceRef): PlannedRequest => ({
  ...{ method: 'GET', path: `/tasks?projectId=${id}&limit=20`, token },
})

export const createOf = ({ id, token }: ResourceRef): PlannedRequest => ({
  ...{ method: 'POST', path: '/tasks', token },
  body: { title: `Task ${fresh}`, description: 'To be measured', projectId: id },
})

/** The title is the same in each request: a request contains one number that differs. */
export const keyedCreateOf = (project: ResourceRef): PlannedRequest => ({
  ...createOf(project),
  headers: { 'idempotency-key': `0199b6a4-5c1e-7000-8000-000${fresh}` },
  body: { title: 'Task 123456789', description: 'To be measured', projectId: project.id },
})

export const renameOf = ({ id, token }: ResourceRef): PlannedRequest => ({
  ...{ method: 'PATCH', path: `/tasks/${id}`, token, body: { title: `Patched ${fresh}` } },
})

/** The requests of a tracker's users. */
export const trackerMix = ({ projects, tasks }: World): Plan => [
  { share: 65, status: 200, requests: tasks.map(getTask) },
  { share: 23, status: 200, requests: projects.map(listTasks) },
  {
    ...{ share: 9, status: 200 },
    requests: projects.map(({ token }) => ({ method: 'GET', path: '/projects', token })),
  },
  { share: 3, status: 201, requests: projects.map(createOf) },
]
