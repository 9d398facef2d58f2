import {
  ImportError,
  type CommentItem,
  type ImportedItem,
  type ImportedPerson,
  type TaskItem,
} from '../../items.ts'
import type { Reader } from '../reader.ts'
import type { Entry } from '../json/entry.ts'
import { assigneesOf, itemOf, note } from '../json/items.ts'
import { JsonFile } from '../json/json-file.ts'
import { Labels } from './labels.ts'

const omit = ['reactions', 'reactionGroups', 'performed_via_github_app', 'issue_field_values']

/**
 * Reads issues and comments of GitHub: lists of the REST API, one after the other, the same as a document a line, or
 * what `gh issue list --json` prints.
 */
export const readGitHub: Reader = async function* ({ open }) {
  const labels = new Labels()
  let row = 0
  for await (const entry of new JsonFile(open).read(['', '*'], { omit, documents: 'many' })) {
    row += 1
    if (entry.has('issue_url')) yield commentOf(entry, row, keyOf(entry, 'issue_url'))
    else yield* issueOf(entry, row, labels)
  }
  if (row === 0) throw new ImportError('The file has no issues: expected a list of issues of GitHub')
}

function* issueOf(issue: Entry, row: number, labels: Labels): Generator<ImportedItem> {
  if (!issue.has('number') || !issue.has('title'))
    throw new ImportError(
      'The file is not a list of issues of GitHub: an issue has a number and a title',
      `row ${row}`,
    )
  const task = taskOf(issue, row)
  for (const label of labelsOf(issue)) yield* labels.newItem(label.text('name'), label.text('color'), row)
  yield task
  // The REST API has the number of comments in this place.
  if (typeof issue.value.comments === 'number') return
  for (const comment of issue.entries('comments')) yield commentOf(comment, row, task.key!)
}

function taskOf(issue: Entry, row: number): TaskItem {
  const list = issue.entries('assignees').flatMap((user) => personOf(user) ?? [])
  const { assignee, others } = assigneesOf(list)
  const milestone = issue.entry('milestone')
  const names = labelsOf(issue).flatMap((label) => label.text('name') ?? [])
  const isPullRequest = (issue.value.pull_request ?? undefined) !== undefined
  return itemOf<TaskItem>({
    ...{ kind: 'task', row, key: issueKeyOf(issue), title: issue.required('title') },
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

/** Labels of the REST API may be names only. */
function labelsOf(issue: Entry): Entry[] {
  const labels = issue.value.labels
  if (!Array.isArray(labels) || !labels.some((label) => typeof label === 'string'))
    return issue.entries('labels')
  return issue.texts('labels').map((name) => issue.with('labels', { name }))
}

function personOf(user: Entry | undefined): ImportedPerson | undefined {
  const name = user?.text('login')
  return name === undefined ? undefined : { name }
}

function commentOf(comment: Entry, row: number, task: string): CommentItem {
  return itemOf({
    ...{ kind: 'comment', row, task, key: comment.text('id'), text: comment.text('body') ?? '' },
    author: personOf(comment.entry('user') ?? comment.entry('author')),
    createdAt: comment.text('created_at') ?? comment.text('createdAt'),
  })
}

function issueKeyOf(issue: Entry): string {
  const url = ['html_url', 'url'].find((key) => issue.has(key))
  return url ? keyOf(issue, url) : `#${issue.required('number')}`
}

/** Returns `owner/repository#number` for the address of an issue. */
function keyOf(entry: Entry, key: string): string {
  const match = /([^/]+\/[^/]+)\/(?:issues|pull|pulls)\/(\d+)/.exec(entry.required(key))
  return match ? `${match[1]}#${match[2]}` : `#${entry.text('number') ?? ''}`
}
