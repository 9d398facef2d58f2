import { appeared } from '../../src/model/events.ts'
import { command, inNewProject } from '../../src/commands/command.ts'
import { isTaken } from '../../src/commands/decide.ts'
import { deletion, update } from '../../src/commands/row-commands.ts'
import { idTaken } from '../../src/wire/refusals.ts'
import { optionalText } from '../../src/schema/text.ts'
import { project } from './entity.ts'
import { CreateProject, projectView, UpdateProject } from './schema.ts'

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

export const updateProject = update(project, {
  about: 'Absent fields stay, null clears the description.',
  input: UpdateProject,
  least: 'ADMIN',
  whom: ({ id }) => ({ by: 'owner', key: id }),
  fields: ({ name, description }) => ({ name: name?.trim(), description: optionalText(description) }),
})

/** Takes constant time: without the project nothing of it is visible, and a worker deletes its rows. */
export const deleteProject = deletion(project, {
  about: 'At once and for good, with everything inside. Only the owner may.',
  least: 'OWNER',
})
