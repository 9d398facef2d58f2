import { describe, test } from 'bun:test'
import { createProject, deleteProject, updateProject } from '../../modules/projects/commands.ts'
import { admin, fact, owner, project, projectCreated, projectGone, projectId, staffed } from './facts.ts'
import { asking, when, now, testRefusals } from './given.ts'

const id = projectId
const remove = asking(deleteProject, { id })

describe('creating a project', () => {
  test('makes its caller the owner', () => {
    const after = { id: projectId, ownerId: 'nora', name: 'New', createdAt: now, eventId: 'new-1' }
    when('nora', asking(createProject, { name: 'New', description: null }), [])
      .then(fact('project.created', 'project', null, { ...after, description: null }))
      .answering({ ...after, description: null })
  })
})

describe('changing a project', () => {
  test('sets the given fields and keeps the other fields', () => {
    const after = { ...project, name: 'Mill', eventId: 'new-1' }
    when(admin, asking(updateProject, { id, name: 'Mill', description: undefined }), staffed)
      .then(fact('project.updated', 'project', project, after))
      .answering(after)
  })

  test('clears the description with null', () => {
    const after = { ...project, description: null, eventId: 'new-1' }
    when(owner, asking(updateProject, { id, description: null }), staffed).then(
      fact('project.updated', 'project', project, after),
    )
  })

  test('commits no event if no field changes', () => {
    const { name, description } = project
    when(admin, asking(updateProject, { id, name, description }), staffed).thenNothing(project)
  })

  testRefusals(staffed, {
    'in a deleted project, also for its owner': [
      owner,
      asking(updateProject, { id, name: 'Mill' }),
      '404 Project not found',
      [...staffed, projectGone],
    ],
  })
})

describe('deleting a project', () => {
  test('commits one event, whatever the project contains', () => {
    when(owner, remove, staffed)
      .then(fact('project.deleted', 'project', project, null))
      .answering(undefined)
  })

  testRefusals(staffed, {
    'the second time': [owner, remove, '404 Project not found', [projectCreated, projectGone]],
  })
})
