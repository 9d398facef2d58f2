import type { World } from './world.ts'

export const roles = ['VIEWER', 'EDITOR', 'ADMIN']
export const statuses = ['TODO', 'IN_PROGRESS', 'DONE']
const priorities = ['LOW', 'MEDIUM', 'HIGH', undefined]
const dates = ['2030-01-01', '2030-01-02', '2030-01-03', '2020-01-01', '2030-01-04T12:00:00.5+02:00', null]
const reminders = [undefined, undefined, '2130-01-01', undefined, null, '2130-01-02T12:00:00Z']
const descriptions = ['long '.repeat(300), null, undefined, undefined, undefined, undefined, undefined]
export const at = <T>(list: T[], n: number): T | undefined => list[n % list.length]
export const fieldsOf = (value: number) => ({
  ...{ status: at(statuses, value), priority: at(priorities, value), dueDate: at(dates, value) },
  remindAt: at(reminders, value),
  description: at(descriptions, value),
})
/** Few names, so that names are taken and moved tasks find labels of the same name. */
export const labelName = (value: number) => `${value % 2 ? 'L' : 'l'}${value % 5}`
export const colors = ['#d73a4a', null, undefined]
export const labelIdsIn = ({ labels }: World, projectId: string, other: number) => {
  const ids = labels.filter((one) => one.projectId === projectId).map(({ id }) => id)
  return ids.filter((_, n) => (other + n) % 3 !== 0).slice(0, 50)
}
const fieldTypes = ['text', 'number', 'boolean', 'date', 'choice']
/** Few keys, so that keys are taken, and moved tasks find fields with the same key. */
export const fieldOf = (value: number, other: number) => {
  const type = at(fieldTypes, other)
  return {
    key: `k${value % 3}`,
    name: `F${value}`,
    type,
    options: type === 'choice' ? optionsOf(value) : null,
  }
}
export const optionsOf = (value: number) => at([['a'], ['b'], ['a', 'b']], value)!
export const valuesOf: Record<string, unknown[]> = {
  ...{ text: ['a', '2030-01-01', null], number: [1, 2.5, null], boolean: [true, false, null] },
  ...{ date: ['2030-01-01', '2030-01-02', null], choice: ['a', 'b', null] },
}
export const valuesIn = ({ fields }: World, projectId: string, value: number) => {
  const own = fields.filter((one) => one.projectId === projectId).slice(-3)
  const some = own.filter((_, n) => (value + n) % 3 !== 0)
  return Object.fromEntries(some.map(({ key, type }, n) => [key, at(valuesOf[type]!, value + n)]))
}

const blockerEdits = ['addBlockedByIds', 'addBlockedByIds', 'blockedByIds', 'removeBlockedByIds']
/** One or two tasks, so that most changes form no cycle. */
export const blockersIn = ({ tasks }: World, other: number, value: number) => ({
  [at(blockerEdits, value)!]: [at(tasks, other), ...(value % 3 ? [] : [at(tasks, other + 1)])].map(
    (one) => one!.id,
  ),
})

const queries = [
  {},
  { status: 'TODO' },
  { sort: '-dueDate', limit: '3' },
  { assigneeId: 'me' },
  { 'field.k0': 'a' },
]
export const viewOf = (value: number, other: number) => ({ name: `V${value}`, query: at(queries, other) })
