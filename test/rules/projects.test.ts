import { describe, test } from 'bun:test'
import { createProject, deleteProject, updateProject } from '../../modules/projects/commands.ts'
import {
  admin,
  eventOf,
  owner,
  project,
  projectCreated,
  projectDeleted,
  projectId,
  staffed,
} from './given-events.ts'
import { ruleOf, when, now, testRejections } from './given.ts'

const id = projectId
const remove = ruleOf(deleteProject, { id })

describe('creating a project', () => {
  test('makes its caller the owner', () => {
    const after = { id: projectId, ownerId: 'nora', name: 'New', createdAt: now, eventId: 'new-1' }
    when('nora', ruleOf(createProject, { name: 'New', description: null }), [])
      .then(eventOf('project.created', 'project', null, { ...after, description: null }))
      .answering({ ...after, description: null })
  })
})

describe('changing a project', () => {
  test('sets the given fields and keeps the other fields', () => {
    const after = { ...project, name: 'Mill', eventId: 'new-1' }
    when(admin, ruleOf(updateProject, { id, name: 'Mill', description: undefined }), staffed)
      .then(eventOf('project.updated', 'project', project, after))
      .answering(after)
  })

  test('clears the description with null', () => {
    const after = { ...project, description: null, eventId: 'new-1' }
    when(owner, ruleOf(updateProject, { id, description: null }), staffed).then(
      eventOf('project.updated', 'project', project, after),
    )
  })

  test('commits no event if no field changes', () => {
    const { name, description } = project
    when(admin, ruleOf(updateProject, { id, name, description }), staffed).thenNoEvents(project)
  })

  testRejections(staffed, {
    'in a deleted project, even for its owner': [
      owner,
      ruleOf(updateProject, { id, name: 'Mill' }),
      '404 Project not found',
      [...staffed, projectDeleted],
    ],
  })
})

describe('deleting a project', () => {
  test('commits one event, whatever the project contains', () => {
    when(owner, remove, staffed)
      .then(eventOf('project.deleted', 'project', project, null))
      .answering(undefined)
  })

  testRejections(staffed, {
    'if the project is already deleted': [
      owner,
      remove,
      '404 Project not found',
      [projectCreated, projectDeleted],
    ],
  })
})
