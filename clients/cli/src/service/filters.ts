import { usageError } from '../failure.ts'
import { findLabels } from './find.ts'
import { type Find, type Given, hintOf, kindOf, taskFields, textIn, withoutAbsent } from './task-body.ts'

const hyphens = (name: string) => name.replace(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`)

/** The parameters of a list that filter by a field: by one value, or by a lower or an upper bound. */
const parameters = taskFields.flatMap((field) => {
  const { name, option, isFilter, bounds = [] } = field
  const ofBounds = bounds.map((parameter, n) => {
    const words = hyphens(parameter).replaceAll('-', ' ')
    const about =
      field.kind === 'instant' ? `${words} this time` : `${field.option} at ${n ? 'most' : 'least'} this`
    return { field, parameter, option: hyphens(parameter), about }
  })
  return isFilter ? [{ field, parameter: name, option, about: `with this ${option}` }, ...ofBounds] : ofBounds
})

/** The options of lists that filter by fields of tasks. */
export const fieldFilters = Object.fromEntries(
  parameters.map(({ field, option, about }) => [
    option,
    {
      type: 'string',
      valueHint: hintOf(field),
      description: `Tasks ${about}${field.kind === 'user' ? kindOf(field).explained : ''}`,
    } as const,
  ]),
)

export const labelFilters = {
  labels: { type: 'string', valueHint: 'labels', description: 'Tasks with all of these labels' },
  'any-label': {
    type: 'string',
    valueHint: 'labels',
    description: 'Tasks with at least one of these labels',
  },
} as const

/** Returns the filters of the options. @throws Failure 2 for an empty list of labels */
export async function filtersOf(find: Find, args: Given) {
  const labels = async (name: keyof typeof labelFilters) => {
    const text = textIn(args, name)
    if (text === undefined) return undefined
    const ids = await findLabels(find.docket, text, find.projectOf)
    if (ids.length === 0) throw usageError(`--${name} needs a label`)
    return ids
  }
  const filters: Record<string, unknown> = {
    labels: await labels('labels'),
    anyLabel: await labels('any-label'),
  }
  for (const { field, parameter, option } of parameters) {
    const text = textIn(args, option)
    if (text !== undefined) filters[parameter] = await kindOf(field).read(text, { ...field, option }, find)
  }
  return withoutAbsent(filters)
}
