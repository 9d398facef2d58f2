import { type TaskTarget, useOf } from './targets.ts'

/** Returns the plain header: `due date` for `Due date`, `due_date` and `dueDate`. */
export const plain = (header: string): string =>
  header
    .normalize()
    .replace(/(\p{Ll})(\p{Lu})/gu, '$1 $2')
    .toLowerCase()
    .replace(/[^\p{L}\p{N}]+/gu, ' ')
    .trim()

/** Returns the name of a custom field, without the words that Jira adds. */
export const fieldName = (header: string): string =>
  (
    /^(?:custom field|campo personalizado|benutzerdefinierte felder|pole niestandardowe) \((.+)\)$/i.exec(
      header,
    )?.[1] ?? header.replace(/^field\./, '')
  ).slice(0, 100)

/** The usual headers of columns, the most certain first. */
const usual: Partial<Record<TaskTarget, string>> = {
  title: 'title,task name,task title,card name,issue title,summary,name,subject,task,issue,to do',
  description: 'description,notes,details,body,desc,content,task content,note',
  status: 'status,state,stage',
  list: 'list,list name,section,section column,column,column name,bucket,bucket name,group',
  priority: 'priority,importance,urgency',
  dueDate: 'due date,due,deadline,due on,due at,due by',
  remindAt: 'remind at,reminder',
  assignee: 'assignee,assigned to,assignees,assigned,owner,responsible',
  assigneeEmail: 'assignee email,assigned to email,owner email',
  author: 'author,reporter,creator,created by',
  authorEmail: 'author email,reporter email,creator email',
  createdAt: 'created at,created,created time,created on,created date,creation date,date created',
  completed: 'completed at,completed,completed on,done,is completed,completed date,date completed,closed at',
  labels: 'labels,tags,label,tag,categories,category',
  parent: 'parent,parent id,parent key,parent task,parent issue',
  blockedBy: 'blocked by,depends on,dependencies,predecessors',
  comments: 'comments,comment',
  subtasks: 'subtasks,checklist,checklist items',
  id: 'issue key,key,id,identifier,task id,issue id,card id',
  externalId: 'external id',
}

/** Returns the targets of plain headers. Only a target with the use `all` belongs to several headers. */
export function usualTargets(headers: string[]): Map<string, TaskTarget> {
  const found = new Map<string, TaskTarget>()
  // Microsoft Planner writes words such as `In progress`. Other systems write numbers in this column.
  if (headers.includes('progress') && headers.includes('bucket name')) found.set('progress', 'status')
  for (const [target, names] of Object.entries(usual) as [TaskTarget, string][]) {
    const present = names.split(',').filter((name) => headers.includes(name))
    for (const name of useOf(target) === 'all' ? present : present.slice(0, 1)) found.set(name, target)
  }
  return found
}
