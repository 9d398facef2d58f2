import { applyResponse, createProject, plan, planNext } from './plan.ts'
import { Random } from './random.ts'
import { roles } from '../../src/identity/rights.ts'
import { openClient, register } from '../support/client.ts'
import { digest, responseError } from './check-lists.ts'
import { type History, isWrite, type Operation, type Request } from './history.ts'

// With the short timeout, a client often retries at another process while the first attempt still runs.
const [longTimeoutMs, shortTimeoutMs] = [4_000, 300]

export interface LoadSize {
  clients: number
  perSecond: number
  maxOperations: number
}

export function startLoad(
  recorder: RecordingClient,
  world: World,
  seed: number,
  size: LoadSize,
): { stop(): Promise<void> } {
  const pauseMs = (1_000 * size.clients) / size.perSecond
  let isRunning = true
  let left = size.maxOperations

  async function client(n: number): Promise<void> {
    const random = new Random(seed + 1_000 + n)
    await Bun.sleep(random.between(0, pauseMs))
    while (isRunning && left-- > 0) {
      const plan = planNext(world, random)
      // Requests that are not retried leave unknown outcomes.
      const tries = random.chance(0.15) ? 1 : 12
      const timeoutMs = random.chance(0.2) ? shortTimeoutMs : longTimeoutMs
      const web = random.below(recorder.webs)
      applyResponse(plan, await recorder.send(plan.request, { web, tries, timeoutMs }))
      await Bun.sleep(random.between(0.2, 1.8) * pauseMs)
    }
  }
  const clients = Array.from({ length: size.clients }, (_, n) => client(n))
  return {
    async stop() {
      isRunning = false
      await Promise.all(clients)
    },
  }
}

const registeredAtOnce = 4
const membersPerProject = 8
const sendOptions = { web: 0, tries: 5, timeoutMs: 10_000 }

export async function populate(
  recorder: RecordingClient,
  url: string,
  random: Random,
  size: { users: number; projects: number },
): Promise<World> {
  const client = openClient(url)
  const users: User[] = []
  while (users.length < size.users) {
    const next = Array.from({ length: registeredAtOnce }, (_, i) =>
      register(client, `User ${users.length + i}`),
    )
    for (const { id, email, token } of await Promise.all(next)) users.push({ id, email, token: token! })
  }
  const world = new World(users)
  for (let n = 0; n < size.projects; n++) {
    const creation = createProject(world, random)!
    applyResponse(creation, await recorder.send(creation.request, sendOptions))
    const project = world.projects.at(-1)!
    project.isPermanent = true
    const others = random.shuffled(users.filter((user) => user !== project.owner)).slice(0, membersPerProject)
    for (const [i, user] of others.entries()) {
      const about = { entity: 'member' as const, id: '', projectId: project.id, userId: user.id }
      const body = { email: user.email, role: roles[(i + 1) % roles.length] }
      const to = `POST /projects/${project.id}/members/invite` as const
      const { request } = plan('member.invite', to, project.owner, about, { body })
      const { id } = JSON.parse((await recorder.send(request, sendOptions)).text) as { id: string }
      project.members.push({ id, user })
    }
  }
  return world
}

export interface User {
  id: string
  email: string
  token: string
}

export interface TaskRef {
  id: string
  etag: string | null
  subtasks: string[]
  comments: { id: string; author: User }[]
}

export interface EventRef {
  seq: number
  batch: number | null
  undoes?: number
  type: string
  entityId: string
  taskId: string | null
  after: Record<string, unknown> | null
}

export interface ProjectRef {
  id: string
  owner: User
  isPermanent: boolean
  members: { id: string; user: User }[]
  tasks: TaskRef[]
  recent: EventRef[]
}

/** The data that clients know from earlier responses, which may be out of date. */
export class World {
  readonly projects: ProjectRef[] = []
  private tags = 0

  constructor(readonly users: User[]) {}

  /** Only three users own projects, so that most callers who move a task may write both projects. */
  get owners(): User[] {
    return this.users.slice(0, 3)
  }

  tag(what: string): string {
    return `${what} ${++this.tags}`
  }

  project(random: Random): ProjectRef {
    return (random.chance(0.4) ? this.projects[0] : random.pick(this.projects)) as ProjectRef
  }

  task(random: Random): { project: ProjectRef; task: TaskRef } | undefined {
    const project = this.project(random)
    const task = random.pick(project.tasks)
    return task && { project, task }
  }

  caller(project: ProjectRef, random: Random): User {
    if (random.chance(0.04)) return random.pick(this.users)!
    return random.chance(0.4) ? project.owner : (random.pick(project.members)?.user ?? project.owner)
  }
}

export function removeFrom<T>(items: T[], item: T): void {
  const at = items.indexOf(item)
  if (at >= 0) items.splice(at, 1)
}

/** Time-outs of attempts with a shorter timeout do not count as failures of the service. */
const minTimeoutMs = 1_000
const maxTries = 20

/** Batches and undos create no resource of their own, so they return 200. */
const returnsOk = (kind: string) => kind === 'batch' || kind === 'undo'

export interface SendOptions {
  web: number
  tries: number
  timeoutMs: number
}

interface Received {
  status: number
  text: string
  headers: Headers
  reason: string
}

/** Status 0 means no response. */
const isTemporary = (status: number): boolean => [0, 429, 503].includes(status)

export class RecordingClient {
  private keys = 0

  constructor(
    private readonly urls: readonly string[],
    private readonly history: History,
    private readonly random: Random,
  ) {}

  get webs(): number {
    return this.urls.length
  }

  /** Sends a request up to `tries` times with one idempotency key, often to another web process. */
  async send(request: Request, { web, tries, timeoutMs }: SendOptions): Promise<Operation> {
    const operation = this.begin(request)
    for (let left = tries; left > 0; left--) {
      const start = performance.now()
      const received = await fetchOnce(this.urls[web]!, request, operation.key, timeoutMs)
      const end = performance.now()
      const { status, text, headers, reason } = received
      this.check(request, received, returnsOk(request.kind) ? 200 : undefined)
      if (!isTemporary(status)) {
        const replayed = headers.get('idempotency-replayed') === 'true'
        const recorded = status === 200 && request.kind === 'task.list' ? digest(text) : text
        const response = { etag: headers.get('etag'), replayed, status, text: recorded }
        return Object.assign(operation, response, { end: status < 500 ? end : Infinity })
      }
      const failure = { path: request.path, web, start, end, status, reason }
      operation.failures.push(failure)
      if (reason !== 'TimeoutError' || timeoutMs >= minTimeoutMs) this.history.failures.push(failure)
      const pauseMs = status !== 0 ? Number(headers.get('retry-after')) * 1_000 : this.random.between(20, 200)
      if (left > 1) await Bun.sleep(Math.min(pauseMs || 0, 2_000))
      if (this.random.chance(0.5)) web = this.random.below(this.urls.length)
    }
    return operation
  }

  /** Sends a request that is not part of the recorded history. Only invalid responses are recorded. */
  async sendUnrecorded(
    request: Pick<Request, 'method' | 'path' | 'body' | 'caller'>,
    success = 200,
  ): Promise<Received> {
    const key = request.method === 'GET' ? '' : `key-${++this.keys}`
    for (let left = maxTries; ; left--) {
      const url = this.urls[this.random.below(this.urls.length)]!
      const received = await fetchOnce(url, request, key, minTimeoutMs)
      this.check(request, received, success)
      if (!isTemporary(received.status) || left === 1) return received
      await Bun.sleep(this.random.between(20, 500))
    }
  }

  private check({ method, path }: Pick<Request, 'method' | 'path'>, received: Received, success?: number) {
    const error = responseError(method, received, success)
    if (error) this.history.invalidResponses.push(`${method} ${path}: ${error}`)
  }

  private begin({ caller, ...request }: Request): Operation {
    const operation: Operation = {
      ...request,
      callerId: caller.id,
      key: isWrite(request) ? `key-${++this.keys}` : '',
      ...{ start: performance.now(), end: Infinity, status: 0, etag: null, text: '', replayed: false },
      failures: [],
    }
    this.history.operations.push(operation)
    return operation
  }
}

async function fetchOnce(
  url: string,
  { method, path, body, ifMatch, caller }: Pick<Request, 'method' | 'path' | 'body' | 'caller' | 'ifMatch'>,
  key: string,
  timeoutMs: number,
): Promise<Received> {
  const headers: Record<string, string> = { authorization: `Bearer ${caller.token}` }
  if (key) headers['idempotency-key'] = key
  if (ifMatch) headers['if-match'] = ifMatch
  if (body) headers['content-type'] = 'application/json'
  try {
    const signal = AbortSignal.timeout(timeoutMs)
    const init = { method, headers, body: body && JSON.stringify(body), signal }
    const response = await fetch(`${url}/api/v1${path}`, init)
    return { status: response.status, text: await response.text(), headers: response.headers, reason: '' }
  } catch (error) {
    const { name, code } = error as { name?: string; code?: unknown }
    const reason = typeof code === 'string' ? code : String(name)
    return { status: 0, text: '', headers: new Headers(), reason }
  }
}
