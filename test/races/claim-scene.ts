import { make, type Person, upTo } from '../kit.ts'

export const claimNext = (person: Person, projectId: string, body: object = {}) =>
  person.post(`/projects/${projectId}/claim-next`, { leaseSeconds: 10, ...body })

/** Creates a project with unfinished tasks, and returns its id. */
export async function createQueue(person: Person, tasks: number): Promise<string> {
  const { id } = await make(person, '/projects', { name: 'Queue' })
  const operations = upTo(tasks).map((n) => ({ op: 'task.create', title: `T${n}` }))
  await person.post(`/projects/${id}/batch`, { operations })
  return id
}
