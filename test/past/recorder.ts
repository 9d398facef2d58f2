import type { Random } from '../faults/random.ts'
import type { Person } from '../support/client.ts'
import { nextPath } from '../http/list-pages.ts'
import type { RandomWrites } from './random-writes.ts'

export interface Recorded {
  path: string
  projectId: string
  version: number
  text: string
}

const versionOf = (headers: Headers) => Number(headers.get('docket-version'))

function someList(random: Random, projectId: string, people: Person[]): string {
  const some = (name: string, values: readonly string[], chance = 0.3) =>
    random.chance(chance) ? [[name, random.pick(values)!]] : []
  return `/tasks?${new URLSearchParams([
    ['projectId', projectId],
    ...some('status', ['TODO', 'IN_PROGRESS', 'DONE']),
    ...some('priority', ['LOW', 'MEDIUM', 'HIGH']),
    ...some('assigneeId', ['me', people[1]!.id]),
    ...some('dueAfter', ['2030-01-01', '2030-01-02']),
    ...some('dueBefore', ['2030-01-03', '2030-01-05']),
    ...some('sort', ['createdAt', '-createdAt', 'dueDate', '-dueDate'], 0.7),
    ...some('limit', ['1', '2', '3', '5', '7', '100', '200'], 0.9),
  ] as [string, string][])}`
}

const limited = (random: Random, path: string) => `${path}?limit=${random.pick([1, 2, 3, 50])}`

/** Reads resources of each kind, and up to three pages of lists. No client may write meanwhile. */
export async function record(
  who: Person,
  { random, projects, tasks, people }: RandomWrites,
): Promise<Recorded[]> {
  const found: Recorded[] = []
  const ask = async (path: string, projectId?: string): Promise<void> => {
    let next: string | undefined = path
    for (let pages = 0; next && pages < 3; pages++) {
      const { status, text, body, headers } = await who.get(next)
      if (status === 404) return
      if (status !== 200) throw new Error(`GET ${next} got ${status} ${text}`)
      found.push({ path: next, projectId: projectId ?? body.projectId, version: versionOf(headers), text })
      next = nextPath(headers)
    }
  }
  for (const { id } of projects) {
    await ask(`/projects/${id}`, id)
    await ask(limited(random, `/projects/${id}/members`), id)
    for (let n = 0; n < 6; n++) await ask(someList(random, id, people), id)
  }
  for (const { id } of [...tasks.slice(0, 4), ...random.shuffled(tasks.slice(4)).slice(0, 4)]) {
    const before = found.length
    await ask(`/tasks/${id}`)
    const projectId = found[before]?.projectId
    if (!projectId) continue
    for (const list of ['subtasks', 'comments']) await ask(limited(random, `/tasks/${id}/${list}`), projectId)
  }
  return found
}
