import { inProject } from '../../src/commands/command.ts'
import { creation, deletion, update } from '../../src/commands/row-commands.ts'
import { taskListView } from './entity.ts'
import { checkedQuery, notInViews, queryTooLong } from './query.ts'
import { CreateView, UpdateView } from './schema.ts'

// These rules call functions of the list of tasks, whose files also import the clock and random numbers. So this file is
// not called commands.ts, although the rules are pure.

const queryErrors = [notInViews('projectId'), queryTooLong()]

export const createView = creation(taskListView, {
  about: 'The query is checked like a list of tasks. `me` stands for the caller who reads the tasks.',
  input: CreateView,
  target: inProject(),
  role: 'EDITOR',
  path: '/views',
  fields: ({ projectId, name, query }, { caller, now }, state) => {
    return { projectId, name: name.trim(), query: checkedQuery(state, caller, query), createdAt: now }
  },
  errors: queryErrors,
})

export const updateView = update(taskListView, {
  about: 'Absent values do not change; a new query replaces the previous query.',
  input: UpdateView,
  role: 'EDITOR',
  fields: ({ name, query }, { caller }, _, state) => {
    return { name: name?.trim(), query: query && checkedQuery(state, caller, query) }
  },
  errors: queryErrors,
})

export const deleteView = deletion(taskListView, { role: 'EDITOR' })
