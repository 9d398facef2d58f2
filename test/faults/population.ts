import { roles } from '../../src/identity/rights.ts'
import type { Caller } from './caller.ts'
import { plan, settle } from './plan.ts'
import { createProject } from './plan-projects.ts'
import type { Random } from './random.ts'
import { type User, World } from './world.ts'

const registeredAtOnce = 4
const membersAtFirst = 8
const manner = { web: 0, tries: 5, timeoutMs: 10_000 }

export async function populate(
  caller: Caller,
  url: string,
  random: Random,
  size: { users: number; projects: number },
): Promise<World> {
  const users: User[] = []
  while (users.length < size.users) {
    const next = Array.from({ length: registeredAtOnce }, (_, i) => register(url, users.length + i))
    users.push(...(await Promise.all(next)))
  }
  const world = new World(users)
  for (let n = 0; n < size.projects; n++) {
    const creation = createProject(world, random)!
    settle(creation, await caller.perform(creation.request, manner))
    const project = world.projects.at(-1)!
    project.lasts = true
    const others = random.shuffled(users.filter((user) => user !== project.owner)).slice(0, membersAtFirst)
    for (const [i, user] of others.entries()) {
      const about = { entity: 'member' as const, id: '', projectId: project.id, userId: user.id }
      const body = { email: user.email, role: roles[(i + 1) % roles.length] }
      const to = `POST /projects/${project.id}/members/invite` as const
      const { request } = plan('member.invite', to, project.owner, about, { body })
      const { id } = JSON.parse((await caller.perform(request, manner)).text) as { id: string }
      project.members.push({ id, user })
    }
  }
  return world
}

async function register(url: string, n: number): Promise<User> {
  const email = `user-${n}@example.com`
  const response = await fetch(`${url}/api/v1/auth/register`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ name: `User ${n}`, email, password: 'a password of a user' }),
  })
  if (response.status !== 201)
    throw new Error(`register answered ${response.status} ${await response.text()}`)
  const { access_token: token, user } = (await response.json()) as {
    access_token: string
    user: { id: string }
  }
  return { id: user.id, email, token }
}
