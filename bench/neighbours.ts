import { type Client, invite, make, openClient, type Person, register } from '../test/support/client.ts'
import { eachOf, numbers, type ResourceRef } from './seed.ts'

/** An account that floods a server, and a normal account. */
export interface Neighbours {
  url: string
  token: string
  projects: ResourceRef[]
  /** A project of the flooding account with more than 5,000 events. */
  large: { id: string; version: number }
  movable: string
  /** Tasks of the normal account, in one project. */
  politeTasks: ResourceRef[]
  /** Removals of members from the normal account's project. */
  removals: number[]
}

const projectCount = 1_000
const batches = { count: 10, tasks: 250 }
const politeCount = 20

export async function seedNeighbours(url: string): Promise<Neighbours> {
  const nobody = openClient(url)
  const [flooder, polite, member] = [await register(nobody), await register(nobody), await register(nobody)]
  const projects = await eachOf(numbers(projectCount), () => newProject(flooder))
  const large = await makeLarge(flooder, (await newProject(flooder)).id)
  const { id: movable } = await make(flooder, '/tasks', { title: 'To move', projectId: large.id })
  const own = await newProject(polite)
  const politeTasks = await eachOf(numbers(politeCount), async (n) => {
    const { id } = await make(polite, '/tasks', { title: `Task ${n}`, projectId: own.id })
    return { ...own, id }
  })
  const removals: number[] = []
  for (let n = 0; n < politeCount; n++) {
    const { id } = await invite(polite, own.id, member)
    await polite.delete(`/projects/${own.id}/members/${id}`)
    removals.push(await versionOf(polite, own.id))
  }
  return { url, token: flooder.token!, projects, large, movable, politeTasks, removals }
}

async function newProject(person: Person): Promise<ResourceRef> {
  const { id } = await make(person, '/projects', { name: 'To be measured' })
  return { id, projectId: id, token: person.token!, ownerId: person.id }
}

async function makeLarge(owner: Client, id: string): Promise<Neighbours['large']> {
  const batch = async (operations: object[]) => {
    const { status, text } = await owner.post(`/projects/${id}/batch`, { operations })
    if (status > 201) throw new Error(`A batch was answered ${status} ${text}`)
    return (JSON.parse(text) as { results: { id: string }[] }).results
  }
  for (let n = 0; n < batches.count; n++) {
    const description = 'To be measured. '.repeat(12)
    const titles = numbers(batches.tasks).map((m) => `Task ${n}.${m}`)
    const tasks = await batch(titles.map((title) => ({ op: 'task.create', title, description })))
    await batch(tasks.map((task) => ({ op: 'task.update', id: task.id, title: 'Renamed' })))
  }
  return { id, version: await versionOf(owner, id) }
}

async function versionOf(client: Client, id: string): Promise<number> {
  const { headers } = await client.get(`/projects/${id}`)
  return Number(headers.get('docket-version'))
}
