import type { Module } from '../../src/module.ts'
import { childList } from '../../src/routes/child-list.ts'
import { createLabel, deleteLabel, updateLabel } from './commands.ts'
import { label } from './entity.ts'

export const labels = {
  entity: label,
  writes: [
    ['post', '/projects/:id/labels', createLabel, 'Create a label'],
    ['patch', '/labels/:id', updateLabel, 'Change a label'],
    ['delete', '/labels/:id', deleteLabel, 'Delete a label'],
  ],
  reads: (services) => [
    ['/projects/:id/labels', childList(services, label, services.findRole), 'List the labels of a project'],
  ],
} satisfies Module
