import type { ProjectRow } from '../../drizzle/rows.ts'
import { appeared, type Context, type Decision, differing, removed, updated } from '../../src/actor/events.ts'
import { requireMatch } from '../../src/actor/precondition.ts'
import type { ProjectState } from '../../src/actor/state.ts'
import { requireStanding, type Standing } from '../../src/core/access.ts'
import { notFound } from '../../src/core/errors.ts'

/** The project, if the caller may do here what takes `least`. `what` is the resource the caller asked for. */
export function projectFor(
  state: ProjectState,
  context: Context,
  least: Standing,
  what = 'Project',
): ProjectRow {
  requireStanding(state.standing(context.caller), least, what)
  if (!state.project) throw notFound(what)
  return state.project
}

export interface NewProject {
  name: string
  description: string | null
}

export function createProject(
  state: ProjectState,
  context: Context,
  { name, description }: NewProject,
): Decision<ProjectRow> {
  const id = state.projectId
  const fields = { id, ownerId: context.caller, name, description, createdAt: context.now }
  const change = appeared(state, context, 'project.created', 'project', fields)
  return { changes: [change], answer: change.after }
}

export function updateProject(
  state: ProjectState,
  context: Context,
  wanted: Partial<NewProject>,
): Decision<ProjectRow> {
  const project = projectFor(state, context, 'ADMIN')
  requireMatch(context, project)
  const fields = differing<Partial<NewProject>>(project, wanted)
  if (!fields) return { changes: [], answer: project }
  const change = updated(state, context, 'project.updated', 'project', project, fields)
  return { changes: [change], answer: change.after }
}

/** Takes constant time: everything inside is out of sight with the project, and its rows go later. */
export function deleteProject(state: ProjectState, context: Context): Decision<void> {
  const project = projectFor(state, context, 'OWNER')
  requireMatch(context, project)
  const change = removed(state, context, 'project.deleted', 'project', project)
  return { changes: [change], answer: undefined }
}
