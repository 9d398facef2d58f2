import type { Planner } from './plan.ts'
import { dropFrom } from './world.ts'

const mostPassing = 5

export const createProject: Planner = (world, random) => {
  if (world.projects.filter(({ lasts }) => !lasts).length >= mostPassing) return undefined
  const owner = random.pick(world.owners)!
  const body = { name: world.tag('project') }
  return {
    request: {
      kind: 'project.create',
      method: 'POST',
      path: '/projects',
      caller: owner,
      body,
      about: { entity: 'project', id: '' },
    },
    learn: ({ id }) =>
      void world.projects.push({ id, owner, lasts: false, members: [], tasks: [], recent: [] }),
  }
}

export const patchProject: Planner = (world, random) => {
  const project = world.project(random)
  const caller = world.caller(project, random)
  const body = { name: world.tag('renamed project') }
  const about = { entity: 'project' as const, id: project.id, projectId: project.id }
  return {
    request: { kind: 'project.patch', method: 'PATCH', path: `/projects/${project.id}`, caller, body, about },
  }
}

export const deleteProject: Planner = (world, random) => {
  const project = random.pick(world.projects.filter(({ lasts }) => !lasts))
  if (!project) return undefined
  const drop = () => dropFrom(world.projects, project)
  const about = { entity: 'project' as const, id: project.id, projectId: project.id }
  return {
    request: {
      kind: 'project.delete',
      method: 'DELETE',
      path: `/projects/${project.id}`,
      caller: project.owner,
      about,
    },
    learn: drop,
    forget: drop,
  }
}
