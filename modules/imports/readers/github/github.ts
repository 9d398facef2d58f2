import { ImportError, type ImportedItem } from '../../items.ts'
import type { Reader } from '../reader.ts'
import { CommentCounts } from '../json/comment-counts.ts'
import type { Entry } from '../json/entry.ts'
import { itemOf } from '../json/items.ts'
import { JsonFile } from '../json/json-file.ts'
import { taskOf } from './issue.ts'
import { commentOf, keyOf, labelsOf } from './parts.ts'
import { Labels } from '../json/labels.ts'

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
  const labels = new Labels()
  let isEmpty = true
  for await (const entry of file.read(parts, { omit, documents: 'many' })) {
    isEmpty = false
    if (entry.has('issue_url')) yield commentOf(entry, keyOf(entry, 'issue_url'))
    else yield* issueOf(entry, labels, comments)
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

function* issueOf(issue: Entry, labels: Labels, comments: CommentCounts): Generator<ImportedItem> {
  if (!issue.has('number') || !issue.has('title'))
    throw new ImportError(
      'The file is not a list of issues of GitHub: an issue has a number and a title',
      `row ${issue.row}`,
    )
  const task = taskOf(issue)
  for (const label of labelsOf(issue))
    yield* labels.newItem(label.text('name'), label.text('color'), issue.row)
  // In lists of the REST API, this is the number of comments.
  const total = issue.value.comments
  if (typeof total === 'number') {
    yield itemOf({ ...task, messages: comments.missing(task.key, total) })
    return
  }
  yield task
  for (const comment of issue.entries('comments')) yield commentOf(comment, task.key)
}
