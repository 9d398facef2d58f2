import { inProject } from '../../src/commands/command.ts'
import { creation, deletion, update } from '../../src/commands/row-commands.ts'
import { label, labelNameTaken } from './entity.ts'
import { CreateLabel, UpdateLabel } from './schema.ts'

export const createLabel = creation(label, {
  about: `The name must be unique in the project without regard to case. A project has at most ${label.maxRows} labels.`,
  input: CreateLabel,
  target: inProject(),
  role: 'EDITOR',
  path: '/labels',
  fields: ({ projectId, name, color = null }, { now }) => {
    return { projectId, name: name.trim(), color, createdAt: now }
  },
  errors: [labelNameTaken('urgent')],
})

export const updateLabel = update(label, {
  about: 'Absent fields do not change.',
  input: UpdateLabel,
  role: 'EDITOR',
  fields: ({ name, color }) => ({ name: name?.trim(), color }),
  errors: [labelNameTaken('urgent')],
})

export const deleteLabel = deletion(label, {
  about: 'The label disappears from all tasks. An undo restores the label and its tasks.',
  role: 'EDITOR',
})
