import type { ImportedItem, ImportedPerson, TaskItem } from '../../items.ts'
import type { Entry } from '../json/entry.ts'
import { itemOf } from '../json/items.ts'
import { assigneesOf, namesNote, note } from '../json/notes.ts'

export function taskOf(task: Entry, parent: string | undefined): TaskItem {
  const [membership, ...others] = task.entries('memberships')
  const section = membership?.entry('section')?.text('name')
  const kind = task.text('resource_subtype')
  const tags = task.entries('tags').flatMap((tag) => tag.text('name') ?? [])
  const { assignee } = assigneesOf(personOf(task.entry('assignee')))
  return {
    ...{ kind: 'task', row: task.row, key: task.required('gid'), title: task.required('name') },
    description: task.text('notes'),
    list: section && !/^(\(no section\)|untitled section)$/i.test(section) ? section : undefined,
    status: task.isTrue('completed') ? 'DONE' : undefined,
    dueDate: task.text('due_at') ?? task.text('due_on'),
    createdAt: task.text('created_at'),
    author: personOf(task.entry('created_by'))[0],
    assignee,
    labels: kind === 'milestone' ? [...tags, 'milestone'] : tags,
    parent,
    blockedBy: task.entries('dependencies').map((blocker) => blocker.required('gid')),
    notes: [
      ...note('Completed', task.text('completed_at')),
      ...note('Start', task.text('start_at') ?? task.text('start_on')),
      ...note('Approval', task.text('approval_status')),
      ...note('Actual time in minutes', task.number('actual_time_minutes')),
      ...others.flatMap((other) => namesNote('Also in', placeOf(other))),
      ...task.entries('attachments').flatMap((one) => note('Attachment', one.text('name'))),
    ],
  }
}

const placeOf = (membership: Entry) =>
  ['project', 'section'].flatMap((key) => {
    const name = membership.entry(key)?.text('name')
    return name ? { name } : []
  })

function personOf(user: Entry | undefined): ImportedPerson[] {
  const [name, email] = [user?.text('name') ?? user?.text('email'), user?.text('email')]
  return name ? [email ? { name, email } : { name }] : []
}

export function* commentOf(story: Entry, task: string): Generator<ImportedItem> {
  if ((story.text('type') ?? 'comment') !== 'comment') return
  yield itemOf({
    ...{ kind: 'comment', row: story.row, task, key: story.text('gid'), text: story.text('text') ?? '' },
    ...{ author: personOf(story.entry('created_by'))[0], createdAt: story.text('created_at') },
  })
}
