import { roles } from '../../src/identity/rights.ts'
import { aboutNewProject, aboutProject, deletes, plan, type Planner } from './plan.ts'
import { removeFrom, type EventRef } from './world.ts'

const maxTemporary = 5
const maxMembers = 12

export const createProject: Planner = (world, random) => {
  if (world.projects.filter(({ isPermanent }) => !isPermanent).length >= maxTemporary) return undefined
  const owner = random.pick(world.owners)!
  const lists = { members: [], tasks: [], recent: [] }
  return plan('project.create', 'POST /projects', owner, aboutNewProject, {
    body: { name: world.tag('project') },
    onSuccess: ({ id }) => void world.projects.push({ id, owner, isPermanent: false, ...lists }),
  })
}

export const patchProject: Planner = (world, random) => {
  const project = world.project(random)
  const body = { name: world.tag('renamed project') }
  const caller = world.caller(project, random)
  return plan('project.patch', `PATCH /projects/${project.id}`, caller, aboutProject(project), { body })
}

export const deleteProject: Planner = (world, random) => {
  const project = random.pick(world.projects.filter(({ isPermanent }) => !isPermanent))
  if (!project) return undefined
  const handlers = deletes(() => removeFrom(world.projects, project))
  const about = aboutProject(project)
  return plan('project.delete', `DELETE /projects/${project.id}`, project.owner, about, handlers)
}

export const readHistory: Planner = (world, random) => {
  const project = world.project(random)
  const path = `/projects/${project.id}/history?limit=${random.chance(0.5) ? 5 : 20}`
  return plan('project.history', `GET ${path}`, world.caller(project, random), aboutProject(project), {
    onSuccess: (body) => void (project.recent = body as unknown as EventRef[]),
  })
}

export const inviteMember: Planner = (world, random) => {
  const project = world.project(random)
  if (project.members.length >= maxMembers) return removeMember(world, random)
  const [caller, user] = [world.caller(project, random), random.pick(world.users)!]
  const about = { entity: 'member' as const, id: '', projectId: project.id, userId: user.id }
  return plan('member.invite', `POST /projects/${project.id}/members/invite`, caller, about, {
    body: { email: user.email, role: random.pick(['EDITOR', 'ADMIN', 'EDITOR', 'VIEWER']) },
    onSuccess: ({ id }) => void project.members.push({ id, user }),
  })
}

export const setRole: Planner = (world, random) => {
  const project = world.project(random)
  const member = random.pick(project.members)
  if (!member) return undefined
  const path = `/projects/${project.id}/members/${member.id}/role`
  const about = { entity: 'member' as const, id: member.id, projectId: project.id }
  const body = { role: random.pick(roles) }
  return plan('member.role', `PATCH ${path}`, world.caller(project, random), about, { body })
}

export const removeMember: Planner = (world, random) => {
  const project = world.project(random)
  const member = random.pick(project.members)
  if (!member) return undefined
  const caller = random.chance(0.7) ? project.owner : member.user
  const path = `/projects/${project.id}/members/${member.id}`
  const about = { entity: 'member' as const, id: member.id, projectId: project.id, userId: member.user.id }
  const handlers = deletes(() => removeFrom(project.members, member))
  return plan('member.remove', `DELETE ${path}`, caller, about, handlers)
}
