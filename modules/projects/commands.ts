import type { ProjectRow } from '../../drizzle/rows.ts'
import { appeared, differing, removed, updated } from '../../src/model/events.ts'
import { requireMatch } from '../../src/wire/if-match.ts'
import type { ProjectState } from '../../src/actor/state.ts'
import { command, inNewProject, inProject } from '../../src/commands/command.ts'
import { isTaken } from '../../src/commands/decide.ts'
import { idTaken, notFound } from '../../src/wire/refusals.ts'
import { optionalText } from '../../src/schema/text.ts'
import { CreateProject, ProjectId, projectView, UpdateProject } from './schema.ts'

export const createProject = command('project.create', {
  about: 'The caller becomes its owner.',
  input: CreateProject,
  at: inNewProject,
  least: 'nobody',
  whom: (_, { userId }) => ({ by: 'id', key: userId }),
  takesOwnId: true,
  decide(state, known, { name, description }) {
    if (state.version > 0 || isTaken(known, state.projectId)) throw idTaken()
    const change = appeared(state, known, 'project.created', {
      ...{ id: state.projectId, ownerId: known.caller.userId, createdAt: known.now },
      ...{ name: name.trim(), description: optionalText(description) ?? null },
    })
    return { changes: [change], answer: change.after }
  },
  shows: projectView,
  status: 201,
  refuses: [idTaken()],
  madeAt: (id) => `/projects/${id}`,
})

export const updateProject = command('project.update', {
  about: 'Absent fields stay, null clears the description.',
  input: UpdateProject,
  at: inProject('id'),
  least: 'ADMIN',
  whom: ({ id }) => ({ by: 'owner', key: id }),
  decide(state, known, { name, description }) {
    const project = projectIn(state)
    requireMatch(known, project)
    const wanted = { name: name?.trim(), description: optionalText(description) }
    const fields = differing<Partial<ProjectRow>>(project, wanted)
    if (!fields) return { changes: [], answer: project }
    const change = updated(state, known, 'project.updated', project, fields)
    return { changes: [change], answer: change.after }
  },
  shows: projectView,
})

/** Takes constant time: everything inside is out of sight with the project, and its rows go later. */
export const deleteProject = command('project.delete', {
  about: 'At once and for good, with everything inside. Only the owner may.',
  input: ProjectId,
  at: inProject('id'),
  least: 'OWNER',
  decide(state, known) {
    const project = projectIn(state)
    requireMatch(known, project)
    return { changes: [removed(state, known, 'project.deleted', project)], answer: undefined }
  },
  says: 'Project deleted successfully',
})

function projectIn({ project }: ProjectState): ProjectRow {
  if (!project) throw notFound('Project')
  return project
}
