import type { Module } from '../../src/module.ts'
import { childList } from '../../src/routes/child-list.ts'
import { createField, deleteField, updateField } from './commands.ts'
import { field } from './entity.ts'

export const fields = {
  entity: field,
  writes: [
    ['post', '/projects/:id/fields', createField, 'Create a field'],
    ['patch', '/fields/:id', updateField, 'Change a field'],
    ['delete', '/fields/:id', deleteField, 'Delete a field'],
  ],
  reads: (services) => [
    ['/projects/:id/fields', childList(services, field, services.findRole), 'List the fields of a project'],
  ],
} satisfies Module
