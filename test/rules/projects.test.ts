import { describe, expect, test } from 'bun:test'
import { createProject, deleteProject, projectFor, updateProject } from '../../modules/projects/decide.ts'
import { admin, fact, owner, project, projectCreated, projectGone, projectId, staffed } from './facts.ts'
import { contextOf, folded, given, now } from './given.ts'

describe('creating a project', () => {
  test('makes its caller the owner', () => {
    const after = { id: projectId, ownerId: 'nora', name: 'New', createdAt: now, eventId: 'new-1' }
    given([])
      .when('nora', (state, context) => createProject(state, context, { name: 'New', description: null }))
      .then(fact('project.created', 'project', null, { ...after, description: null }))
      .answering({ ...after, description: null })
  })
})

describe('changing a project', () => {
  test('sets what is wanted and keeps the rest', () => {
    const after = { ...project, name: 'Mill', eventId: 'new-1' }
    given(staffed)
      .when(admin, (state, context) =>
        updateProject(state, context, { name: 'Mill', description: undefined }),
      )
      .then(fact('project.updated', 'project', project, after))
      .answering(after)
  })

  test('clears the description with null', () => {
    const after = { ...project, description: null, eventId: 'new-1' }
    given(staffed)
      .when(owner, (state, context) => updateProject(state, context, { description: null }))
      .then(fact('project.updated', 'project', project, after))
  })

  test('is nothing when nothing differs', () => {
    const { name, description } = project
    given(staffed)
      .when(admin, (state, context) => updateProject(state, context, { name, description }))
      .thenNothing(project)
  })

  test('is refused when the project is gone, to its owner too', () => {
    given([...staffed, projectGone])
      .when(owner, (state, context) => updateProject(state, context, { name: 'Mill' }))
      .thenRefused(404, 'Project not found')
  })
})

describe('deleting a project', () => {
  test('is one fact, whatever is inside', () => {
    given(staffed)
      .when(owner, deleteProject)
      .then(fact('project.deleted', 'project', project, null))
      .answering(undefined)
  })

  test('is refused the second time', () => {
    given([projectCreated, projectGone]).when(owner, deleteProject).thenRefused(404, 'Project not found')
  })
})

describe('looking for the project', () => {
  test('gives it to who may', () => {
    expect(projectFor(folded(staffed), contextOf(admin), 'ADMIN')).toEqual(project)
  })

  test('names what the caller asked for when it refuses', () => {
    given([])
      .when(owner, (state, context) => {
        return { changes: [], answer: projectFor(state, context, 'VIEWER', 'Plan') }
      })
      .thenRefused(404, 'Plan not found')
  })
})
