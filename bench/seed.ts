import type postgres from 'postgres'
import { openClient } from '../test/support/client.ts'

const users = 50
const projectsEach = 20
const tasksEach = 20
const atOnce = 64

/** A project, or a task of one, with the token of its owner. */
export interface ResourceRef {
  id: string
  projectId: string
  token: string
  ownerId: string
}

/** The data of the scenarios. Each user owns 20 projects of 20 tasks; the first project is the hot one. */
export interface World {
  url: string
  projects: ResourceRef[]
  tasks: ResourceRef[]
  hotSubtask: string
}

export async function seed(url: string): Promise<World> {
  const nobody = openClient(url)
  const make = async (token: string | undefined, path: string, body: unknown) => {
    const answer = await nobody.as(token).post(path, body)
    if (answer.status !== 201) throw new Error(`POST ${path} answered ${answer.status} ${answer.text}`)
    return answer.body
  }
  const owners = await eachOf(numbers(users), async (n) => {
    const email = `bench-${Date.now()}-${n}@example.com`
    const { access_token, user } = await make(undefined, '/auth/register', {
      ...{ name: `User ${n}`, email, password: 'secret-1' },
    })
    return { token: access_token, ownerId: user.id }
  })
  const projects = await eachOf(numbers(users * projectsEach), async (n) => {
    const owner = owners[n % users]!
    const body = { name: `Project ${n}`, description: 'To be measured' }
    const { id } = await make(owner.token, '/projects', body)
    return { ...owner, id, projectId: id }
  })
  const tasks = await eachOf(numbers(projects.length * tasksEach), async (n) => {
    const project = projects[n % projects.length]!
    const body = { title: `Task ${n}`, description: 'To be measured', projectId: project.id }
    const { id } = await make(project.token, '/tasks', body)
    return { ...project, id }
  })
  const { id: hotSubtask } = await make(tasks[0]!.token, `/tasks/${tasks[0]!.id}/subtasks`, { title: 'Hot' })
  return { url, projects, tasks, hotSubtask }
}

/** The ids for pgbench, as constant arrays in SQL, so that choosing one costs nothing. */
export async function seedLimit(sql: postgres.Sql, { projects, tasks, hotSubtask }: World): Promise<void> {
  const arrays = {
    projects: projects.map(({ id }) => id),
    owners: projects.map(({ ownerId }) => ownerId),
    tasks: tasks.map(({ id }) => id),
    task_projects: tasks.map(({ projectId }) => projectId),
    task_owners: tasks.map(({ ownerId }) => ownerId),
    hot_subtask: [hotSubtask],
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

export const numbers = (count: number): number[] => Array.from({ length: count }, (_, n) => n)

export async function eachOf<T, R>(items: T[], work: (item: T) => Promise<R>): Promise<R[]> {
  const results = new Array<R>(items.length)
  let next = 0
  const lane = async () => {
    while (next < items.length) {
      const n = next++
      results[n] = await work(items[n]!)
    }
  }
  await Promise.all(Array.from({ length: atOnce }, lane))
  return results
}
