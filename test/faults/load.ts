import { upTo } from '../races/pair.ts'
import { emptyWorld, type Verb, verbs, type World } from '../rules/verbs.ts'
import { type Client, invite, make, openClient, register } from '../support/client.ts'
import { idsIn, type Operation } from './history.ts'
import type { Random } from './random.ts'
import type { Recorder } from './recorder.ts'

export interface Load extends World {
  recorder: Recorder
  random: Random
  /** The first projects are not deleted. */
  permanent: World['projects']
  /** The recording clients of the users. */
  callers: Client[]
  isRunning: boolean
}

/** Only these users own projects, so that most callers who move a task may write both projects. */
const owners = 3
const minLeaseSeconds = 10
const roles = ['EDITOR', 'ADMIN', 'EDITOR', 'VIEWER']

export async function populate(
  recorder: Recorder,
  url: string,
  random: Random,
  size: { users: number; projects: number },
): Promise<Load> {
  const people = await Promise.all(upTo(size.users).map((n) => register(openClient(url), `User ${n}`)))
  const load: Load = {
    ...{ ...emptyWorld(people), recorder, random, permanent: [], isRunning: true },
    callers: people.map((person) => recorder.clientOf(person)),
  }
  for (const n of upTo(size.projects)) {
    const owner = people[n % owners]!
    const client = recorder.clientOf(owner, { web: 0, timeoutMs: 60_000 })
    const project = await make(client, '/projects', { name: `P${n}` })
    load.permanent.push(project)
    for (const [i, one] of people.entries())
      if (one !== owner) load.members.push(await invite(client, project.id, one, roles[i % roles.length]))
  }
  load.projects = [...load.permanent]
  recorder.onDone = (operation) => forget(load, operation)
  return load
}

type Work = (load: Load, client: Client) => Promise<unknown> | undefined
const projectOf = ({ permanent, projects, random }: Load) =>
  (random.chance(0.4) ? permanent[0] : random.pick(projects))!

/** Requests beside those of the rules' tests. */
const others = {
  deleteTemporary: ({ projects, permanent }, client) => {
    const project = projects[permanent.length]
    return project && client.delete(`/projects/${project.id}`)
  },
  batch: async (load, client) => {
    const { id } = projectOf(load)
    const operations = [
      { op: 'task.create', as: 'task', title: 'B' },
      ...upTo(load.random.below(4)).map((n) => ({ op: 'subtask.create', taskId: '#task', title: `S${n}` })),
      { op: 'comment.create', taskId: '#task', text: 'C' },
      { op: 'task.update', id: '#task', title: 'U', status: 'DONE' },
    ]
    const { status, body } = await client.post(`/projects/${id}/batch`, { operations })
    if (status !== 200) return
    const { version, results } = body as unknown as { version: number; results: World['tasks'] }
    load.tasks.push({ ...results[0]!, projectId: id })
    const batch = version - operations.length + 1
    if (load.random.chance(0.5)) await client.post(`/projects/${id}/undo`, { batch })
  },
  getTask: ({ tasks, random }, client) =>
    tasks.length > 0 ? client.get(`/tasks/${random.pick(tasks)!.id}`) : undefined,
  listTasks: (load, client) => {
    const { random } = load
    const limit = random.chance(0.5) ? '10' : '200'
    const query = new URLSearchParams({ projectId: projectOf(load).id, limit })
    if (random.chance(0.3)) query.set('status', random.pick(['TODO', 'IN_PROGRESS', 'DONE'])!)
    if (random.chance(0.5)) query.set('sort', '-createdAt')
    return client.get(`/tasks?${query}`)
  },
  listChildren: ({ tasks, random }, client) =>
    tasks.length > 0
      ? client.get(`/tasks/${random.pick(tasks)!.id}/${random.pick(['subtasks', 'comments'])}?limit=200`)
      : undefined,
  // The text is the claim under which a worker writes, until another worker may have the task.
  workUnderClaim: async (load, client) => {
    const path = `/projects/${projectOf(load).id}/claim-next`
    const { status, body } = await client.post(path, { leaseSeconds: minLeaseSeconds })
    if (status !== 200) return
    const { id, claim } = body as typeof body & { claim: { seq: number } }
    const headers = { 'docket-if-claim': `${id} ${claim.seq}` }
    for (const isPatient = load.random.chance(0.5); load.isRunning;) {
      const written = await client.post(`/tasks/${id}/comments`, { text: `claim ${claim.seq}` }, headers)
      if (written.status !== 201 || !isPatient) return
      await Bun.sleep(load.random.between(0, 500))
    }
  },
  readHistory: (load, client) => client.get(`/projects/${projectOf(load).id}/history?limit=10`),
} satisfies Record<string, Work>

const frequencies = `
  createTask 10 changeTask 8 placeTask 8 moveTask 6 appendToTask 4 assignTask 3 deleteTask 3 thereAndBack 1
  addSubtask 6 toggleSubtask 8 changeSubtask 3 deleteSubtask 2 addComment 5 editComment 3 deleteComment 2
  claimTask 3 claimNext 3 releaseTask 2 workUnderClaim 0.5 blockTask 3 labelTask 3 setValues 3
  createLabel 1 deleteLabel 0.3 createField 1 createView 0.3 openProject 1 changeProject 1 deleteTemporary 0.7
  invite 3 setRole 1 removeMember 0.5 batch 6 undo 10 getTask 15 listTasks 12 listChildren 8 readHistory 4`
const weights = Object.fromEntries(
  Array.from(frequencies.matchAll(/(\w+) ([\d.]+)/g), ([, verb, weight]) => [verb, Number(weight)]),
) as Record<Verb | keyof typeof others, number>

const maxTasks = 150
const maxTemporary = 5

export interface LoadSize {
  clients: number
  perSecond: number
  maxOperations: number
}

/** `ended` resolves after `stop`, or when the clients have sent the maximum of operations. */
export function startLoad(load: Load, size: LoadSize) {
  const pauseMs = (1_000 * size.clients) / size.perSecond
  async function client(): Promise<void> {
    while (load.isRunning) {
      await Bun.sleep(load.random.between(0.2, 1.8) * pauseMs)
      await sendOne(load)
      load.isRunning &&= load.recorder.operations.length < size.maxOperations
    }
  }
  const ended = Promise.all(upTo(size.clients).map(client))
  return { ended, stop: () => ((load.isRunning = false), ended) }
}

async function sendOne(load: Load): Promise<void> {
  const { random, callers, tasks, projects, permanent } = load
  let verb = random.weighted(weights)
  if (/createTask|batch/.test(verb) && tasks.length >= maxTasks) verb = 'deleteTask'
  if (verb === 'openProject' && projects.length >= permanent.length + maxTemporary) verb = 'deleteTemporary'
  const client = random.pick(random.chance(0.6) ? callers.slice(0, owners) : callers)!
  if (verb in others) return void (await others[verb as keyof typeof others](load, client))
  const choices = { pick: random.below(1_000), other: random.below(1_000), value: random.below(1_000) }
  await verbs[verb as Verb](load, client, choices)
}

/** Removes a deleted row from the rows that the clients know. */
function forget(load: Load, { method, path, status }: Operation): void {
  if (method !== 'DELETE' || status !== 200) return
  const id = idsIn(path).at(-1)
  for (const list of ['projects', 'members', 'tasks', 'subtasks', 'comments'] as const)
    load[list] = load[list].filter((row) => row.id !== id)
}
