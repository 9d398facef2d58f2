import { fresh, type Plan, type PlannedRequest } from './plan.ts'
import type { ResourceRef, World } from './seed.ts'

export const trackerMix = ({ projects, tasks }: World): Plan => [
  { share: 65, status: 200, requests: tasks.map(getTask) },
  { share: 23, status: 200, requests: projects.map(listTasks) },
  {
    share: 9,
    status: 200,
    requests: projects.map(({ token }) => ({ method: 'GET', path: '/projects', token })),
  },
  { share: 3, status: 201, requests: projects.map(createOf) },
]

export const halfAndHalf = ({ projects, tasks }: World): Plan => [
  { share: 1, status: 201, requests: projects.map(createOf) },
  { share: 1, status: 200, requests: tasks.map(getTask) },
]

export const singleKind = (status: number, requests: PlannedRequest[]): Plan => [
  { share: 1, status, requests },
]

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
  idempotencyKey: `0199b6a4-5c1e-7000-8000-000${fresh}`,
  body: { title: 'Task 123456789', description: 'To be measured', projectId: project.id },
})

export const renameOf = ({ id, token }: ResourceRef): PlannedRequest => ({
  ...{ method: 'PATCH', path: `/tasks/${id}`, token, body: { title: `Patched ${fresh}` } },
})

export async function unchangedList(url: string, project: ResourceRef): Promise<PlannedRequest> {
  const request = listTasks(project)
  const headers = { authorization: `Bearer ${project.token}` }
  const answer = await fetch(`${url}/api/v1${request.path}`, { headers })
  await answer.text()
  return { ...request, etag: answer.headers.get('etag') ?? '' }
}

export const batchOf100 = ({ id, token }: ResourceRef): PlannedRequest => ({
  ...{ method: 'POST', path: `/projects/${id}/batch`, token },
  body: {
    operations: Array.from({ length: 100 }, (_, n) => ({
      ...{ op: 'task.create', title: n ? `Task ${n}` : `Task ${fresh}`, description: 'To be measured' },
    })),
  },
})
