import type { Module } from '../../src/module.ts'
import { createProject, deleteProject, updateProject } from './commands.ts'
import { project } from './entity.ts'
import { getProject, listProjects } from './reads.ts'

export const projects = {
  entity: project,
  writes: [
    ['post', '/projects', createProject, 'Create a project'],
    ['patch', '/projects/:id', updateProject, 'Change a project'],
    ['delete', '/projects/:id', deleteProject, 'Delete a project'],
  ],
  reads: (services) => [
    ['/projects', listProjects(services), 'List projects'],
    ['/projects/:id', getProject(services), 'Get a project'],
  ],
} satisfies Module
