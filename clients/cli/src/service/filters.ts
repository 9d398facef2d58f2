import type { Docket } from '../../../typescript/src/index.ts'
import type { Values } from '../command.ts'
import { usageError } from '../failure.ts'
import { findLabels, findUser } from './find.ts'
import { oneOf, priorities, withoutAbsent } from './task-body.ts'

/** The options that select tasks, in lists and for claims. */
export const filterArguments = {
  priority: { type: 'string', valueHint: priorities.join('|'), description: 'With this priority' },
  assignee: {
    type: 'string',
    valueHint: 'user',
    description: 'Of me, or of a member by name, email or id',
  },
  labels: { type: 'string', valueHint: 'labels', description: 'With all of these labels' },
  'any-label': { type: 'string', valueHint: 'labels', description: 'With at least one of these labels' },
} as const

type Given = Partial<Values<typeof filterArguments>>

/** Returns the filters of the options. @param projectOf returns the id of the project @throws Failure 2 for an empty list */
export async function filtersOf(docket: Docket, args: Given, projectOf: () => Promise<string>) {
  const labels = async (name: 'labels' | 'any-label') => {
    const text = args[name]
    if (text === undefined) return undefined
    const ids = await findLabels(docket, text, projectOf)
    if (ids.length === 0) throw usageError(`--${name} needs a label`)
    return ids
  }
  return withoutAbsent({
    priority: oneOf('priority', args.priority, priorities),
    assigneeId: args.assignee === undefined ? undefined : await findUser(docket, args.assignee, projectOf),
    labels: await labels('labels'),
    anyLabel: await labels('any-label'),
  })
}
