import type { TaskItem } from '../../items.ts'
import type { Entry } from '../json/entry.ts'
import { itemOf } from '../json/items.ts'
import { assigneesOf, note } from '../json/notes.ts'
import { issueKeyOf, keyOf, labelsOf, personOf } from './parts.ts'

export function taskOf(issue: Entry): TaskItem {
  const list = issue.entries('assignees').flatMap((user) => personOf(user) ?? [])
  const { assignee, others } = assigneesOf(list)
  const milestone = issue.entry('milestone')
  const names = labelsOf(issue).flatMap((label) => label.text('name') ?? [])
  const isPullRequest = (issue.value.pull_request ?? undefined) !== undefined
  return itemOf<TaskItem>({
    ...{ kind: 'task', row: issue.row, key: issueKeyOf(issue), title: issue.required('title') },
    description: issue.text('body'),
    status: issue.text('state')?.toLowerCase() === 'closed' ? 'DONE' : 'TODO',
    createdAt: issue.text('created_at') ?? issue.text('createdAt'),
    author: personOf(issue.entry('user') ?? issue.entry('author')),
    assignee,
    labels: isPullRequest ? [...names, 'pull request'] : names,
    fields: milestone ? { milestone: milestone.text('title') ?? '' } : {},
    notes: [...notesOf(issue), ...others],
  })
}

function notesOf(issue: Entry): string[] {
  const reason = issue.text('state_reason') ?? issue.text('stateReason')
  const milestone = issue.entry('milestone')
  const type = issue.value.type ?? undefined
  return [
    ...note('Closed', issue.text('closed_at') ?? issue.text('closedAt')),
    ...(reason && !/^(completed|reopened)$/i.test(reason) ? note('Reason', reason) : []),
    ...note('Milestone due', milestone?.text('due_on') ?? milestone?.text('dueOn')),
    ...note('Type', typeof type === 'object' ? issue.entry('type')?.text('name') : undefined),
    ...(issue.has('parent_issue_url') ? note('Part of', keyOf(issue, 'parent_issue_url')) : []),
  ]
}
