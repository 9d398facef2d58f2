import type { KnownColumns } from '../csv/columns/columns.ts'

const unused = `issue id,project key,project name,project type,project lead,project lead id,project description,
  project url,assignee id,reporter id,creator id,watchers id,watchers,votes,updated,last viewed,work ratio,
  status category,status category changed,parent summary,outward issue link blocks,custom field rank,
  custom field development`

/** The columns of Jira in English. */
export const jiraColumns: KnownColumns = {
  ...Object.fromEntries(unused.split(/,\s*/).map((name) => [name, null])),
  summary: 'title',
  'issue key': 'id',
  description: 'description',
  status: 'status',
  priority: 'priority',
  assignee: 'assignee',
  reporter: 'author',
  created: 'createdAt',
  'due date': 'dueDate',
  labels: 'labels',
  comment: 'comments',
  parent: 'parent',
  'parent id': 'parent',
  'parent key': 'parent',
  'inward issue link blocks': 'blockedBy',
  attachment: 'notes',
  'log work': 'notes',
  'custom field epic link': 'field.epic',
}
