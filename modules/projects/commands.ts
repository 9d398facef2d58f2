import { inNewProject } from '../../src/commands/command.ts'
import { creation, deletion, update } from '../../src/commands/row-commands.ts'
import { optionalText } from '../../src/schema/input.ts'
import { project } from './entity.ts'
import { CreateProject, UpdateProject } from './schema.ts'

export const createProject = creation(project, {
  about: 'The caller becomes the owner.',
  input: CreateProject,
  target: inNewProject,
  role: null,
  person: (_, { userId }) => ({ by: 'id', key: userId }),
  path: '/projects',
  fields({ name, description, textEdits }, { caller, now }) {
    const texts = { name: name.trim(), description: optionalText(description) ?? null }
    const settings = textEdits === 'if-match' && { textEdits }
    return { ownerId: caller.userId, createdAt: now, ...texts, ...settings }
  },
})

export const updateProject = update(project, {
  about: 'Absent fields do not change; null clears the description.',
  input: UpdateProject,
  role: 'ADMIN',
  person: ({ id }) => ({ by: 'owner', key: id }),
  fields: ({ name, description, textEdits }) => ({
    name: name?.trim(),
    description: optionalText(description),
    textEdits: textEdits === 'last-write-wins' ? null : textEdits,
  }),
})

/** Deletes only the project's row, in constant time. Then the other rows are invisible; a worker deletes them later. */
export const deleteProject = deletion(project, {
  about:
    'Deletes the project and everything in it, immediately and permanently. Only the owner may delete a project.',
  role: 'OWNER',
})
