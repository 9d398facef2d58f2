import { roles } from '../../src/identity/rights.ts'
import { openClient, register } from '../support/client.ts'
import { applyResponse, plan } from './plan.ts'
import { createProject } from './plan-projects.ts'
import type { Random } from './random.ts'
import type { RecordingClient } from './recording-client.ts'
import { type User, World } from './world.ts'

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
