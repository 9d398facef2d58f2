import type { ImportedPerson } from '../../items.ts'

/** Returns a line for the foot of the description, or nothing without a value. */
export const note = (name: string, value: string | number | undefined): string[] =>
  value === undefined || value === '' ? [] : [`${name}: ${value}`]

export const namesNote = (name: string, people: ImportedPerson[]): string[] =>
  note(name, people.map((person) => person.name).join(', '))

export const attachmentNote = (name: string | undefined, url: string | undefined): string[] =>
  note('Attachment', name && url && name !== url ? `${name} (${url})` : (name ?? url))

/** A task has one assignee: the first. */
export const assigneesOf = ([assignee, ...others]: ImportedPerson[]) => ({
  assignee,
  others: namesNote('Also assigned', others),
})
