import { roles } from '../../src/identity/rights.ts'
import type { Planner } from './plan.ts'
import { dropFrom } from './world.ts'

const mostMembers = 12

export const inviteMember: Planner = (world, random) => {
  const project = world.project(random)
  if (project.members.length >= mostMembers) return removeMember(world, random)
  const [caller, user] = [world.caller(project, random), random.pick(world.users)!]
  const body = { email: user.email, role: random.pick(['EDITOR', 'ADMIN', 'EDITOR', 'VIEWER']) }
  const path = `/projects/${project.id}/members/invite`
  const about = { entity: 'member' as const, id: '', projectId: project.id, userId: user.id }
  return {
    request: { kind: 'member.invite', method: 'POST', path, caller, body, about },
    learn: ({ id }) => void project.members.push({ id, user }),
  }
}

export const setRole: Planner = (world, random) => {
  const project = world.project(random)
  const member = random.pick(project.members)
  if (!member) return undefined
  const caller = world.caller(project, random)
  const path = `/projects/${project.id}/members/${member.id}/role`
  const about = { entity: 'member' as const, id: member.id, projectId: project.id }
  const body = { role: random.pick(roles) }
  return { request: { kind: 'member.role', method: 'PATCH', path, caller, body, about } }
}

export const removeMember: Planner = (world, random) => {
  const project = world.project(random)
  const member = random.pick(project.members)
  if (!member) return undefined
  const caller = random.chance(0.7) ? project.owner : member.user
  const path = `/projects/${project.id}/members/${member.id}`
  const about = { entity: 'member' as const, id: member.id, projectId: project.id, userId: member.user.id }
  const drop = () => dropFrom(project.members, member)
  return {
    request: { kind: 'member.remove', method: 'DELETE', path, caller, about },
    learn: drop,
    forget: drop,
  }
}
