import { readAll, usersOf } from '../names/references.ts'
import { read } from '../requests.ts'
import { type Call } from '../tool.ts'

/** The names of a project, of its users and of its labels, by id. */
export type Names = ReadonlyMap<string, string>

/** The maximum number of projects whose names one call reads. The answer shows ids for tasks of further projects. */
const maxProjects = 20

interface Person {
  id: string
  name: string
}

/** Returns a function that reads the names in a project. In one call, the function reads each project once. */
export function openNames(call: Call) {
  const byProject = new Map<string, Promise<Names>>()
  return (projectId: string): Promise<Names> => {
    const known = byProject.get(projectId)
    if (known) return known
    if (byProject.size === maxProjects) return Promise.resolve(new Map())
    const names = readNames(call, projectId)
    byProject.set(projectId, names)
    return names
  }
}

async function readNames(call: Call, projectId: string): Promise<Names> {
  const path = `/projects/${projectId}`
  const [project, members, labels] = await Promise.all([
    read<Person & { owner: Person | null }>(call, path),
    readAll<{ user: Person | null }>(call, `${path}/members`),
    readAll<Person>(call, `${path}/labels`),
  ])
  const users = usersOf(project.body.owner, members)
  return new Map([project.body, ...users, ...labels].map(({ id, name }) => [id, name]))
}
