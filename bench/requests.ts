import { fresh, type Plan, type PlannedRequest } from './plan.ts'
import type { Seeded, World } from './seed.ts'

/** The mixed load: mostly reads. */
export const trackerMix = ({ projects, tasks }: World): Plan => [
  { share: 65, status: 200, requests: tasks.map(getTask) },
  { share: 23, status: 200, requests: projects.map(listTasks) },
  {
    share: 9,
    status: 200,
    requests: projects.map(({ token }) => ({ method: 'GET', path: '/projects', token })),
  },
  { share: 3, status: 201, requests: projects.map(creation) },
]

/** Half creates, half reads. */
export const halfAndHalf = ({ projects, tasks }: World): Plan => [
  { share: 1, status: 201, requests: projects.map(creation) },
  { share: 1, status: 200, requests: tasks.map(getTask) },
]

export const only = (status: number, requests: PlannedRequest[]): Plan => [{ share: 1, status, requests }]

export const getting =
  (prefix: string) =>
  ({ id, token }: Seeded): PlannedRequest => ({ method: 'GET', path: prefix + id, token })
export const getTask = getting('/tasks/')

export const listTasks = ({ id, token }: Seeded): PlannedRequest => ({
  ...{ method: 'GET', path: `/tasks?projectId=${id}&limit=20`, token },
})

export const creation = ({ id, token }: Seeded): PlannedRequest => ({
  ...{ method: 'POST', path: '/tasks', token },
  body: { title: `Task ${fresh}`, description: 'To be measured', projectId: id },
})

export const renaming = ({ id, token }: Seeded): PlannedRequest => ({
  ...{ method: 'PATCH', path: `/tasks/${id}`, token, body: { title: `Patched ${fresh}` } },
})

/** Conditional reads of unchanged lists. */
export async function knownList(url: string, project: Seeded): Promise<PlannedRequest> {
  const request = listTasks(project)
  const headers = { authorization: `Bearer ${project.token}` }
  const answer = await fetch(`${url}/api/v1${request.path}`, { headers })
  await answer.text()
  return { ...request, etag: answer.headers.get('etag') ?? '' }
}

/** Batches of a hundred tasks. */
export const creationOf100 = ({ id, token }: Seeded): PlannedRequest => ({
  ...{ method: 'POST', path: `/projects/${id}/batch`, token },
  body: {
    operations: Array.from({ length: 100 }, (_, n) => ({
      ...{ op: 'task.create', title: n ? `Task ${n}` : `Task ${fresh}`, description: 'To be measured' },
    })),
  },
})
