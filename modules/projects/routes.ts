import type { Module } from '../../src/module.ts'
import { createProject, deleteProject, updateProject } from './commands.ts'
import { project } from './entity.ts'
import { projectReads } from './reads.ts'

export const projects = {
  entity: project,
  writes: [
    ['post', '/projects', createProject, 'Create a project'],
    ['patch', '/projects/:id', updateProject, 'Change a project'],
    ['delete', '/projects/:id', deleteProject, 'Delete a project'],
  ],
  reads(services) {
    const { list, get } = projectReads(services)
    return [
      ['/projects', list, 'List projects'],
      ['/projects/:id', get, 'Get a project'],
    ]
  },
} satisfies Module
