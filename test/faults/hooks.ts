import { Webhook } from 'standardwebhooks'
import type { Letter, Receivers } from './receivers.ts'
import type { KnownProject, World } from './world.ts'
import type { Caller } from './caller.ts'
import type { Random } from './random.ts'

export interface Hook {
  path: string
  project: KnownProject
  types: string[] | null
  /** What the service calls it, and the seq after which it begins; undefined until its answer is there. */
  known: { id: string; after: number } | undefined
  secrets: string[]
  /** Where it was begun again, and the last step at receivers before. */
  replays: { after: number; since: number }[]
  /** It was deleted: what is due to it by then may not come any more. */
  isGone: boolean
}

export class Hooks {
  readonly all: Hook[] = []
  readonly flaws: string[] = []
  /** What came before its secret was known. */
  private readonly early: Letter[] = []

  add(project: KnownProject, types: string[] | null): Hook {
    const path = `/${this.all.length}`
    const hook = { path, project, types, known: undefined, secrets: [], replays: [], isGone: false }
    this.all.push(hook)
    return hook
  }

  learn(hook: Hook, secret: string): void {
    hook.secrets.push(secret)
    for (const letter of this.early.splice(0)) this.verify(letter)
  }

  verify = (letter: Letter): void => {
    const { path, id, projectId } = letter.received
    const hook = this.all.find((one) => one.path === path)
    if (!hook || projectId !== hook.project.id) this.flaws.push(`${id} of ${projectId} came to ${path}`)
    else if (hook.secrets.length === 0) this.early.push(letter)
    else if (!hook.secrets.some((secret) => isSigned(secret, letter)))
      this.flaws.push(`${id} came to ${path} with another signature`)
  }
}

function isSigned(secret: string, { text, headers }: Letter): boolean {
  try {
    new Webhook(secret).verify(text, headers)
    return true
  } catch {
    return false
  }
}

const everyMs = 150
const mostPassing = 6
/** Seqs that a replay goes back, at most. */
const mostAgain = 300
/** After so many failures in a row the next try is minutes away; before that it is left to the service. */
const longFailures = 2
const filters = [null, null, ['task.created', 'task.updated', 'task.deleted']]

type Ask = (
  hook: Hook,
  method: 'GET' | 'POST' | 'PATCH' | 'DELETE',
  rest?: string,
  body?: Record<string, unknown>,
) => Promise<Record<string, unknown> | undefined>

/** Somebody who makes webhooks and sees to them: who fails is tried again soon, for retries take hours. */
export async function keepHooks(caller: Caller, world: World, receivers: Receivers, random: Random) {
  const hooks = new Hooks()
  receivers.verify = hooks.verify
  const ask: Ask = async (hook, method, rest = '', body) => {
    const { owner, id } = hook.project
    const path = `/projects/${id}/webhooks${rest}`
    const { status, text } = await caller.ask({ method, path, caller: owner, body }, rest ? 200 : 201)
    if (status === 404 && !hook.project.lasts) hook.isGone = true
    return status >= 200 && status < 300 ? (JSON.parse(text) as Record<string, unknown>) : undefined
  }
  const means = { ask, hooks, receivers, random }
  const [hot, ...quiet] = world.projects
  const first = quiet.map((project, n) => make(project, [1, 5, 100][n % 3]!, means))
  await Promise.all([make(hot!, 100, means), make(hot!, 10, means), ...first])
  let goesOn = true
  const done = (async () => {
    while (goesOn) {
      await tend(world, means)
      await Bun.sleep(random.between(0, 2 * everyMs))
    }
  })()
  return {
    hooks,
    hurry: (hook: Hook) => acts.hurry(hook, means, 1),
    hasten: (hook: Hook) => ask(hook, 'PATCH', `/${hook.known!.id}`, { enabled: true, maxEvents: 100 }),
    stop: () => ((goesOn = false), done),
  }
}

async function tend({ projects }: World, means: Means): Promise<void> {
  const { hooks, random } = means
  const act = random.weighted({ hurry: 85, replay: 3, rotate: 3, resize: 3, remove: 1, make: 5 })
  const there = hooks.all.filter(({ isGone }) => !isGone)
  if (act !== 'make') return acts[act](random.pick(there.filter(({ known }) => known))!, means)
  const project = random.pick(projects.filter(({ lasts }) => !lasts))
  if (project && there.filter((hook) => !hook.project.lasts).length < mostPassing)
    await make(project, 10, means)
}

interface Means {
  ask: Ask
  hooks: Hooks
  receivers: Receivers
  random: Random
}

async function make(project: KnownProject, maxEvents: number, { ask, hooks, receivers }: Means) {
  const hook = hooks.add(project, filters[hooks.all.length % filters.length]!)
  const types = hook.types ? { types: hook.types } : {}
  const made = await ask(hook, 'POST', '', { url: receivers.url + hook.path, maxEvents, ...types })
  if (!made) return
  hook.known = { id: made.id as string, after: made.cursor as number }
  hooks.learn(hook, made.secret as string)
}

const enable = (hook: Hook, ask: Ask) => ask(hook, 'PATCH', `/${hook.known!.id}`, { enabled: true })

const acts = {
  async hurry(hook: Hook, { ask, random }: Means, chance = 0.2) {
    const { enabled, failures } = (await ask(hook, 'GET', `/${hook.known!.id}`)) ?? {}
    const isLong = enabled === false || (failures as number) >= longFailures
    if (isLong || ((failures as number) > 0 && random.chance(chance))) await enable(hook, ask)
  },
  async replay(hook: Hook, { ask, receivers, random }: Means) {
    const last = receivers.received.findLast(({ path, accepted }) => path === hook.path && accepted)
    if (!last) return
    const { id, after: first } = hook.known!
    const after = Math.max(first, last.seqs[0]! - 1 - random.below(mostAgain))
    const since = receivers.steps()
    if (await ask(hook, 'POST', `/${id}/replay`, { after })) hook.replays.push({ after, since })
  },
  async rotate(hook: Hook, { ask, hooks }: Means) {
    const { secret } = (await ask(hook, 'POST', `/${hook.known!.id}/rotate`)) ?? {}
    if (secret) hooks.learn(hook, secret as string)
  },
  async resize(hook: Hook, { ask, random }: Means) {
    await ask(hook, 'PATCH', `/${hook.known!.id}`, { maxEvents: random.pick([5, 20, 100]) })
  },
  async remove(hook: Hook, { ask }: Means) {
    if (hook.project.lasts) return
    hook.isGone = true
    await ask(hook, 'DELETE', `/${hook.known!.id}`)
  },
}
