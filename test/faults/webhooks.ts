import { Webhook as Signer } from 'standardwebhooks'
import type { Random } from './random.ts'
import type { Receivers, SignedRequest } from './deliveries.ts'
import type { RecordingClient } from './load.ts'
import type { ProjectRef, World } from './load.ts'

export interface Webhook {
  path: string
  project: ProjectRef
  types: string[] | null
  /** Deliveries start after the seq `after`. Undefined until the service has responded. */
  created: { id: string; after: number } | undefined
  secrets: string[]
  /** For each replay: its `after` seq, and the step of the receivers at that time. */
  replays: { after: number; since: number }[]
  /** After the deletion, remaining events may or may not be delivered. */
  isDeleted: boolean
}

export class Webhooks {
  readonly all: Webhook[] = []
  readonly errors: string[] = []
  private readonly unverified: SignedRequest[] = []

  add(project: ProjectRef, types: string[] | null): Webhook {
    const path = `/${this.all.length}`
    const webhook = { path, project, types, created: undefined, secrets: [], replays: [], isDeleted: false }
    this.all.push(webhook)
    return webhook
  }

  addSecret(webhook: Webhook, secret: string): void {
    webhook.secrets.push(secret)
    for (const request of this.unverified.splice(0)) this.verify(request)
  }

  verify = (request: SignedRequest): void => {
    const { path, id, projectId } = request.delivery
    const webhook = this.all.find((one) => one.path === path)
    if (!webhook || projectId !== webhook.project.id)
      this.errors.push(
        `${id} of project ${projectId} was sent to ${path}, the path of another project's webhook`,
      )
    else if (webhook.secrets.length === 0) this.unverified.push(request)
    else if (!webhook.secrets.some((secret) => isSigned(secret, request)))
      this.errors.push(`${id} was sent to ${path} with a wrong signature`)
  }
}

function isSigned(secret: string, { text, headers }: SignedRequest): boolean {
  try {
    new Signer(secret).verify(text, headers)
    return true
  } catch {
    return false
  }
}

const everyMs = 150
const maxInTemporaryProjects = 6
const maxReplayedSeqs = 300
/** After this many failures in a row, the service waits for minutes, so the client starts the next attempt. */
const failuresWithLongDelay = 2
const filters = [null, null, ['task.created', 'task.updated', 'task.deleted']]

type Send = (
  webhook: Webhook,
  method: 'GET' | 'POST' | 'PATCH' | 'DELETE',
  rest?: string,
  body?: Record<string, unknown>,
) => Promise<Record<string, unknown> | undefined>

interface Context {
  send: Send
  webhooks: Webhooks
  receivers: Receivers
  random: Random
}

export async function startWebhookClient(
  client: RecordingClient,
  world: World,
  receivers: Receivers,
  random: Random,
) {
  const webhooks = new Webhooks()
  receivers.verify = webhooks.verify
  const send: Send = async (webhook, method, rest = '', body) => {
    const { owner, id, isPermanent } = webhook.project
    const path = `/projects/${id}/webhooks${rest}`
    const request = { method, path, caller: owner, body }
    const { status, text } = await client.sendUnrecorded(request, rest ? 200 : 201)
    if (status === 404 && !isPermanent) webhook.isDeleted = true
    return status >= 200 && status < 300 ? (JSON.parse(text) as Record<string, unknown>) : undefined
  }
  const context = { send, webhooks, receivers, random }
  const [hot, ...quiet] = world.projects
  const first = quiet.map((project, n) => create(project, [1, 5, 100][n % 3]!, context))
  await Promise.all([create(hot!, 100, context), create(hot!, 10, context), ...first])
  let isRunning = true
  const done = (async () => {
    while (isRunning) {
      await actOnce(world, context)
      await Bun.sleep(random.between(0, 2 * everyMs))
    }
  })()
  return {
    webhooks,
    retryNow: (webhook: Webhook) => actions.retryNow(webhook, context, 1),
    enable: (webhook: Webhook) =>
      send(webhook, 'PATCH', `/${webhook.created!.id}`, { enabled: true, maxEvents: 100 }),
    stop: () => ((isRunning = false), done),
  }
}

async function actOnce({ projects }: World, context: Context): Promise<void> {
  const { webhooks, random } = context
  const action = random.weighted({ retryNow: 85, replay: 3, rotate: 3, resize: 3, remove: 1, create: 5 })
  const existing = webhooks.all.filter(({ isDeleted }) => !isDeleted)
  if (action !== 'create')
    return actions[action](random.pick(existing.filter(({ created }) => created))!, context)
  const project = random.pick(projects.filter(({ isPermanent }) => !isPermanent))
  const temporary = existing.filter((webhook) => !webhook.project.isPermanent)
  if (project && temporary.length < maxInTemporaryProjects) await create(project, 10, context)
}

async function create(project: ProjectRef, maxEvents: number, { send, webhooks, receivers }: Context) {
  const webhook = webhooks.add(project, filters[webhooks.all.length % filters.length]!)
  const types = webhook.types ? { types: webhook.types } : {}
  const created = await send(webhook, 'POST', '', { url: receivers.url + webhook.path, maxEvents, ...types })
  if (!created) return
  webhook.created = { id: created.id as string, after: created.cursor as number }
  webhooks.addSecret(webhook, created.secret as string)
}

const actions = {
  async retryNow(webhook: Webhook, { send, random }: Context, chance = 0.2) {
    const path = `/${webhook.created!.id}`
    const { enabled, failures = 0 } = (await send(webhook, 'GET', path)) ?? {}
    const isDelayed = enabled === false || (failures as number) >= failuresWithLongDelay
    if (isDelayed || ((failures as number) > 0 && random.chance(chance)))
      await send(webhook, 'PATCH', path, { enabled: true })
  },
  async replay(webhook: Webhook, { send, receivers, random }: Context) {
    const last = receivers.deliveries.findLast(({ path, accepted }) => path === webhook.path && accepted)
    if (!last) return
    const { id, after: first } = webhook.created!
    const after = Math.max(first, last.seqs[0]! - 1 - random.below(maxReplayedSeqs))
    const since = receivers.steps()
    if (await send(webhook, 'POST', `/${id}/replay`, { after })) webhook.replays.push({ after, since })
  },
  async rotate(webhook: Webhook, { send, webhooks }: Context) {
    const { secret } = (await send(webhook, 'POST', `/${webhook.created!.id}/rotate`)) ?? {}
    if (secret) webhooks.addSecret(webhook, secret as string)
  },
  async resize(webhook: Webhook, { send, random }: Context) {
    await send(webhook, 'PATCH', `/${webhook.created!.id}`, { maxEvents: random.pick([5, 20, 100]) })
  },
  async remove(webhook: Webhook, { send }: Context) {
    if (webhook.project.isPermanent) return
    webhook.isDeleted = true
    await send(webhook, 'DELETE', `/${webhook.created!.id}`)
  },
}
