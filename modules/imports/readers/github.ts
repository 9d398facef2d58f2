import {
  type CommentItem,
  ImportError,
  type ImportedItem,
  type ImportedPerson,
  type TaskItem,
} from '../items.ts'
import { colorOf } from './boards/colors.ts'
import type { Entry } from './json/entry.ts'
import { JsonFile, maxNames } from './json/json-file.ts'
import { assigneesOf, CommentCounts, itemOf, note, personOf } from './json/parts.ts'
import { KeyMap } from './key-map.ts'
import type { Reader } from './reader.ts'

/** An issue, a list of issues, or a list of such lists. */
const parts = ['', '*', '*.*']
const omit = ['reactions', 'reactionGroups', 'performed_via_github_app', 'issue_field_values']

/**
 * Reads issues and comments of GitHub: lists of the REST API one after the other, a JSON object for each line, or the
 * output of `gh issue list --json`.
 */
export const readGitHub: Reader = async function* ({ open }) {
  const file = new JsonFile(open)
  const comments = await countComments(file)
  const labels = new KeyMap<true>()
  let isEmpty = true
  for await (const entry of file.read(parts, { omit, documents: 'many' })) {
    if (entry.has('issue_url')) {
      yield commentOf(entry, keyOf(entry, 'issue_url'))
      continue
    }
    isEmpty = false
    yield* issueOf(entry, labels, comments)
  }
  if (isEmpty) throw new ImportError('The file has no issues: expected a list of issues of GitHub')
}

async function countComments(file: JsonFile): Promise<CommentCounts> {
  const counts = new CommentCounts()
  const unused = [...omit, 'user', 'author', 'body', 'labels', 'assignees', 'comments']
  for await (const entry of file.read(parts, { omit: unused, documents: 'many' }))
    if (entry.has('issue_url')) counts.add(keyOf(entry, 'issue_url'))
  return counts
}

function* issueOf(issue: Entry, known: KeyMap<true>, comments: CommentCounts): Generator<ImportedItem> {
  if (!issue.has('number') || !issue.has('title'))
    throw new ImportError(
      'The file is not a list of issues of GitHub: an issue has a number and a title',
      `row ${issue.row}`,
    )
  for (const label of labelsOf(issue)) {
    const [name, color] = [label.text('name'), colorOf(label.text('color'))]
    if (!name || !color || known.has(name) || known.size === maxNames) continue
    known.set(name, true)
    yield { kind: 'label', row: issue.row, name, color }
  }
  const task = taskOf(issue)
  // In lists of the REST API, this is the number of comments.
  const total = issue.value.comments
  if (typeof total === 'number') return yield itemOf({ ...task, messages: comments.missing(task.key, total) })
  yield task
  for (const comment of issue.entries('comments')) yield commentOf(comment, task.key)
}

function taskOf(issue: Entry): TaskItem {
  const { assignee, others } = assigneesOf(issue.entries('assignees').flatMap((user) => userOf(user) ?? []))
  const milestone = issue.entry('milestone')
  const names = labelsOf(issue).flatMap((label) => label.text('name') ?? [])
  const isPullRequest = (issue.value.pull_request ?? undefined) !== undefined
  const url = ['html_url', 'url'].find((key) => issue.has(key))
  return itemOf<TaskItem>({
    ...{ kind: 'task', row: issue.row, key: url ? keyOf(issue, url) : `#${issue.required('number')}` },
    ...{ title: issue.required('title'), description: issue.text('body') },
    status: issue.text('state')?.toLowerCase() === 'closed' ? 'DONE' : 'TODO',
    createdAt: issue.text('created_at') ?? issue.text('createdAt'),
    ...{ author: userOf(issue.entry('user') ?? issue.entry('author')), assignee },
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
  const { labels } = issue.value
  if (!Array.isArray(labels) || !labels.some((label) => typeof label === 'string'))
    return issue.entries('labels')
  return issue.texts('labels').map((name) => issue.with('labels', { name }))
}

const userOf = (user: Entry | undefined): ImportedPerson | undefined => personOf([user?.text('login')])

const commentOf = (comment: Entry, task: string): CommentItem =>
  itemOf({
    ...{ kind: 'comment', row: comment.row, task, key: comment.text('id'), text: comment.text('body') ?? '' },
    author: userOf(comment.entry('user') ?? comment.entry('author')),
    createdAt: comment.text('created_at') ?? comment.text('createdAt'),
  })

/** The regular expression takes quadratic time. */
const maxAddressCharacters = 500

/** Returns `owner/repository#number` for the address of an issue. */
function keyOf(entry: Entry, key: string): string {
  const address = entry.required(key).slice(0, maxAddressCharacters)
  const match = /([^/]+\/[^/]+)\/(?:issues|pull|pulls)\/(\d+)/.exec(address)
  return match ? `${match[1]}#${match[2]}` : `#${entry.text('number') ?? ''}`
}
