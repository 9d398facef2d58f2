import { inProject } from '../../src/commands/command.ts'
import { creation, deletion, update } from '../../src/commands/row-commands.ts'
import { invalid } from '../../src/responses/errors.ts'
import { field, fieldKeyTaken } from './entity.ts'
import { CreateField, type FieldInput, UpdateField } from './schema.ts'

const invalidOptions = () =>
  invalid('options', 'must be a list of texts for the type choice, and absent or null for other types')

/** @throws HttpError 400 if the options do not fit the type */
function optionsOf(type: FieldInput['type'], options: string[] | null): string[] | null {
  if ((type === 'choice') !== (options !== null)) throw invalidOptions()
  return options && options.map((one) => one.trim())
}

export const createField = creation(field, {
  about:
    'Tasks of the project have values for the field in `fields`. A field of the type choice needs `options`.',
  input: CreateField,
  target: inProject(),
  role: 'ADMIN',
  path: '/fields',
  fields: ({ projectId, key, name, type, options = null }, { now }) => {
    return { projectId, key, name: name.trim(), type, options: optionsOf(type, options), createdAt: now }
  },
  errors: [invalidOptions(), fieldKeyTaken('note')],
})

export const updateField = update(field, {
  about:
    'Absent values do not change; the key and the type never change. Tasks do not show a value that is no longer an option.',
  input: UpdateField,
  role: 'ADMIN',
  fields: ({ name, options }, _, { type }) => {
    return { name: name?.trim(), options: options === undefined ? undefined : optionsOf(type, options) }
  },
  errors: [invalidOptions()],
})

export const deleteField = deletion(field, {
  about: 'The values of the field disappear from all tasks. An undo restores the field and its values.',
  role: 'ADMIN',
})
