import { type Static, Type } from '@sinclair/typebox'
import type { FieldRow } from '../../drizzle/rows.ts'
import { view } from '../../src/model/view.ts'
import { checked, IdOf, Input, OwnId, isNameText, Name, Nullable, OneOf } from '../../src/schema/input.ts'
import { Id, OrNull, Timestamp } from '../../src/schema/response.ts'

export const fieldTypes = ['text', 'number', 'boolean', 'date', 'choice'] as const
export const maxOptions = 100
export const maxOptionCharacters = 100

const KEY = /^[a-z][a-z0-9_]{0,39}$/
export const isKey = (value: unknown): boolean => typeof value === 'string' && KEY.test(value)
const Key = checked<string>(isKey, {
  type: 'string',
  pattern: KEY.source,
  description: 'A text of 1 to 40 characters from a-z, 0-9 and _, which begins with a letter',
  examples: ['estimate'],
})
const FieldName = Name(100, 'Estimate in hours')
const FieldType = OneOf('FieldType', fieldTypes)

function isOptions(value: unknown): boolean {
  if (!Array.isArray(value) || value.length < 1 || value.length > maxOptions) return false
  const isText = (one: unknown) => isNameText(one, { minLength: 1, maxLength: maxOptionCharacters })
  return value.every(isText) && new Set(value.map((one: string) => one.trim())).size === value.length
}
const Options = Nullable(
  checked<string[]>(isOptions, {
    type: 'array',
    minItems: 1,
    maxItems: maxOptions,
    uniqueItems: true,
    items: { type: 'string', minLength: 1, maxLength: maxOptionCharacters },
    description: `A list of 1 to ${maxOptions} different texts of 1 to ${maxOptionCharacters} characters`,
    examples: [['small', 'large']],
  }),
)

export const CreateField = {
  ...Input({
    id: OwnId(),
    projectId: IdOf('project'),
    key: Key,
    name: FieldName,
    type: FieldType,
    options: Type.Optional(Options),
  }),
  examples: [{ key: 'size', name: 'Size', type: 'choice', options: ['small', 'large'] }],
}
export const UpdateField = {
  ...Input({ id: IdOf('field'), name: Type.Optional(FieldName), options: Type.Optional(Options) }),
  examples: [{ name: 'Size of the part' }],
}
export type FieldInput = Static<typeof CreateField>

export const fieldView = view<FieldRow>({
  name: 'Field',
  schema: Type.Object({
    id: Id('The field'),
    projectId: Id('The project that has the field'),
    key: Type.String({ description: 'The key of the values in `fields` of tasks', examples: ['size'] }),
    name: Type.String({ description: 'The name of the field', examples: ['Size'] }),
    type: FieldType,
    options: OrNull(Type.Array(Type.String()), 'The values of a field of the type choice, or null', [
      'small',
      'large',
    ]),
    createdAt: Timestamp('When the field was created'),
  }),
})
