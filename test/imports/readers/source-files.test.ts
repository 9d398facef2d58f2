import { expect, test } from 'bun:test'
import { readFile } from 'node:fs/promises'
import type { ImportedItem } from '../../../modules/imports/items.ts'
import type { Mapping } from '../../../modules/imports/mapping.ts'
import { readers, type Source } from '../../../modules/imports/sources.ts'
import { reading, tasksOf } from './reading.ts'

async function readSample(source: Source, mapping: Mapping = {}) {
  const file = await readFile(new URL(`../files/${source}.csv`, import.meta.url))
  return reading(readers[source]!, file, { mapping, partBytes: 100 })
}
const withoutFields = (items: ImportedItem[]) => items.filter(({ kind }) => kind !== 'field')
const titled = (items: ImportedItem[], title: string) =>
  items.filter((item) => item.kind === 'task' && item.title === title)

test('reads issues of Jira with repeated columns, comments, links at either issue, and sub-tasks', async () => {
  const { items, proposal } = await readSample('jira')
  expect(withoutFields(items)).toEqual([
    {
      ...{ kind: 'task', row: 1, key: 'MILL-1', title: 'Build the mill', priority: 'HIGH' },
      ...{ list: 'In Progress', status: 'IN_PROGRESS', createdAt: '2026-03-12T09:41:00.000Z' },
      assignee: { name: 'Ada Lovelace' },
      author: { name: 'Charles Babbage' },
      fields: { issue_type: 'Epic' },
    },
    {
      ...{ kind: 'task', row: 2, key: 'MILL-2', title: 'Cast the frame', priority: 'MEDIUM' },
      ...{ list: 'Waiting for brass', status: 'IN_PROGRESS', createdAt: '2026-03-13T14:15:00.000Z' },
      ...{ dueDate: '2026-03-31', labels: ['workshop', 'brass'] },
      description: 'h2. Steps\n\n# Melt "brass"; then pour',
      assignee: { name: 'Ada Lovelace' },
      author: { name: 'Charles Babbage' },
      fields: {
        ...{ issue_type: 'Story', sprint: 'Sprint 1, Sprint 2', story_points: 3 },
        epic: 'MILL-1',
      },
      notes: [
        'Attachment: 14/Mar/26 2:15 PM;Ada Lovelace;frame.png;https://jira.example.com/secure/attachment/1/frame.png',
      ],
    },
    {
      ...{ kind: 'comment', row: 2, task: 'MILL-2', text: 'In two parts; not one' },
      ...{ author: { name: 'Ada Lovelace' }, createdAt: '2026-03-14T14:20:00.000Z' },
    },
    {
      ...{ kind: 'comment', row: 2, task: 'MILL-2', text: 'Agreed.\nSee the plate.' },
      ...{ author: { name: '5b10ac8d82e05b22cc7d4ef5' }, createdAt: '2026-03-15T09:00:00.000Z' },
    },
    expect.objectContaining({ key: 'MILL-3', parent: 'MILL-2', status: 'DONE', priority: 'LOW' }),
    expect.objectContaining({ key: 'MILL-4', blockedBy: ['MILL-1', 'MILL-3', 'MILL-2'] }),
  ])
  expect(proposal.statuses).toEqual({
    ...{ 'In Progress': 'IN_PROGRESS', 'Waiting for brass': 'IN_PROGRESS', Done: 'DONE', 'To Do': 'TODO' },
  })
  expect(proposal.columns).toMatchObject({
    ...{ Summary: 'title', 'Project name': null, Comment: 'comments', 'Custom field (Rank)': null },
  })
  for (const header of ['Issue id', 'Status Category', 'Outward issue link (Blocks)'])
    expect(proposal.columns).not.toHaveProperty([header])
})

test('prefers the statuses of the mapping to the categories of Jira', async () => {
  const { items } = await readSample('jira', {
    statuses: { 'Waiting for brass': 'TODO', 'In Progress': null },
  })
  expect(titled(items, 'Cast the frame')[0]).not.toHaveProperty('status')
  expect(titled(items, 'Build the mill')[0]).toMatchObject({ status: 'IN_PROGRESS' })
  expect(titled(items, 'Order brass')[0]).toMatchObject({ status: 'DONE' })
})

test('reads issues of Linear', async () => {
  const read = await readSample('linear')
  const [frame, brass, ink] = tasksOf(read)
  expect(frame).toMatchObject({
    ...{ key: 'MILL-1', list: 'In Progress', priority: 'HIGH', labels: ['brass', 'workshop'] },
    ...{ createdAt: '2026-11-20T10:00:00.000Z', dueDate: '2026-11-30' },
    description: 'In **brass**.\n\nTwo parts.',
    author: { name: 'ada@example.com', email: 'ada@example.com' },
    assignee: { name: 'Charles Babbage' },
    blockedBy: ['MILL-2', 'MILL-3'],
    fields: { team: 'Mill', estimate: 3, cycle_name: 'Cycle 4', related_to: 'MILL-4' },
  })
  expect(brass).toMatchObject({ parent: 'MILL-1', status: 'DONE', list: 'Done' })
  expect(brass).not.toHaveProperty('priority')
  expect(ink).toMatchObject({ list: 'Canceled', status: 'DONE', priority: 'LOW' })
  const mapped = tasksOf(await readSample('linear', { columns: { Canceled: null } }))
  expect(mapped[2]).not.toHaveProperty('status')
})

test('reads a template of Todoist with sections, indents, notes and labels in titles', async () => {
  const { items, messages } = await readSample('todoist')
  const [oil, buy, can] = withoutFields(items).filter((item) => item.kind === 'task')
  expect(oil).toMatchObject({
    ...{ row: 3, title: 'Oil the wheels', labels: ['workshop', 'weekly'], priority: 'HIGH' },
    ...{ description: 'With the small can', dueDate: '2026-10-05', fields: { duration: '30 minute' } },
    ...{ author: { name: 'Ada' }, assignee: { name: 'Charles' } },
  })
  expect(messages[0]).toBe('Row 2: The comment on the whole project was not imported: A note on the project')
  expect(buy).toMatchObject({ title: 'Buy oil', parent: oil!.key! })
  expect(buy).not.toHaveProperty('priority')
  expect(can).toMatchObject({ title: 'Find the can', description: 'In two\r\nrooms', parent: buy!.key! })
  expect(items.filter(({ kind }) => kind === 'comment')).toEqual([
    {
      ...{ kind: 'comment', row: 6, task: can!.key!, author: { name: 'Charles' } },
      text: 'Look, it is "behind" the door',
    },
  ])
  expect(titled(items, 'Draw the plate')).toMatchObject([
    {
      ...{ list: 'Plates', fields: { deadline: 'Oct 9 2026' }, notes: ['DATE: every monday at 9am'] },
      messages: [expect.stringContaining('The date "every monday at 9am" cannot be read')],
    },
  ])
  const [, inSection, again] = titled(items, 'Oil the wheels')
  expect(inSection).toMatchObject({ list: 'Plates', dueDate: '2026-10-06T13:30:00.000Z' })
  expect(again).toMatchObject({ key: `${(inSection as { key: string }).key}#2` })
})

test('keeps the time of a comment of Todoist', async () => {
  const file =
    'TYPE,CONTENT,PRIORITY,INDENT,AUTHOR,DATE\ntask,Oil,4,1,,\nnote,Done today,,,Ada (1),2026-10-05T09:30:00.000000Z\n'
  const { items } = await reading(readers.todoist!, file)
  expect(items.at(-1)).toMatchObject({ text: 'Done today', createdAt: '2026-10-05T09:30:00.000Z' })
})

test('reads a backup of TickTick with columns, all-day dates and checklists', async () => {
  const { items, proposal } = await readSample('ticktick')
  const [frame, brass, shopping, ideas] = tasksOf({ items })
  expect(frame).toMatchObject({
    ...{ row: 1, title: 'Cast the\nframe', list: 'Doing', labels: ['brass', 'workshop', 'Engine'] },
    ...{ description: 'In two parts.\n\nSee the plate', priority: 'HIGH' },
    ...{ createdAt: '2026-10-09T15:09:48.000Z', dueDate: '2026-11-30' },
    fields: { folder: 'Work', reminder: 'TRIGGER:P0DT9H0M0S', repeat: 'RRULE:FREQ=WEEKLY' },
  })
  expect(brass).toMatchObject({ parent: frame!.key!, list: 'Engine', status: 'DONE' })
  expect(shopping).toMatchObject({
    description: 'For the week',
    dueDate: '2026-02-27T13:59:52.000Z',
    priority: 'LOW',
  })
  expect(shopping).not.toHaveProperty('status')
  expect(items.filter(({ kind }) => kind === 'subtask')).toEqual([
    { kind: 'subtask', row: 3, task: shopping!.key!, title: 'Oil', completed: false },
    { kind: 'subtask', row: 3, task: shopping!.key!, title: 'Rags', completed: true },
  ])
  // No task of the file has this id. The import reports it.
  expect(ideas).toMatchObject({ labels: ['Note'], list: 'Inbox', parent: '9' })
  expect(proposal).not.toHaveProperty('timeZone')
})

test('reads the CSV of Asana, which refers to tasks by names that may be repeated and contain commas', async () => {
  const [frame, brass, measure, twice, lost, scale] = tasksOf(await readSample('asana'))
  expect(frame).toMatchObject({
    ...{ key: '1205993847561234', list: 'Doing', dueDate: '2026-03-18', createdAt: '2026-03-02' },
    ...{ assignee: { name: 'Ada Lovelace', email: 'ada@example.com' }, labels: ['brass', 'workshop'] },
    ...{ description: 'In two parts,\nsee the plate', blockedBy: [brass!.key!] },
    fields: { start_date: '2026-03-10', projects: 'Engine', stage: 'Draft', cost: 12.5 },
  })
  expect(brass).toMatchObject({ status: 'DONE', fields: { completed_at: '2026-03-11' } })
  expect(brass!.assignee).toEqual({ name: 'charles@example.com', email: 'charles@example.com' })
  expect(measure).toMatchObject({
    parent: frame!.key!,
    blockedBy: [brass!.key!, 'Melt'],
  })
  expect(measure).not.toHaveProperty('list')
  expect(twice).toMatchObject({ parent: measure!.key! })
  expect(scale).toMatchObject({ parent: twice!.key! })
  expect(lost).toMatchObject({
    parent: "Another project's task",
    notes: ['Blocking: Oil, grease'],
    messages: ['Blocked tasks are not in the file'],
  })
  expect(brass).not.toHaveProperty('notes')
})
