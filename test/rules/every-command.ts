import * as comments from '../../modules/comments/commands.ts'
import * as members from '../../modules/members/commands.ts'
import * as projects from '../../modules/projects/commands.ts'
import * as subtasks from '../../modules/subtasks/commands.ts'
import * as tasks from '../../modules/tasks/commands.ts'
import { appendToTask } from '../../modules/tasks/texts.ts'
import * as workQueue from '../../modules/work-queue/commands.ts'
import { admin, busy, comment, commentCreated, editor, elsewhereCreated, elsewhereId } from './events.ts'
import { invitedElsewhere, memberOf, owner, project, stranger, subtask, task, viewer } from './events.ts'
import { ruleOf, folded, type Rule } from './given.ts'

interface Command {
  name: string
  rule: Rule
  answers: number[]
  /** The row that the command changes; null if the command creates a row. */
  row: { eventId: string } | null
}

export const callers = [stranger, viewer, editor, admin, owner]

const { id: taskId } = task
const theirs = { ...comment, authorId: viewer, eventId: 'their-event' }
const guest = { id: 'nina', name: 'Nina', email: 'nina@example.com', nameTag: '' }
const member = memberOf(viewer, 'VIEWER')

export const events = [...busy.filter(({ entity }) => entity !== 'comment'), commentCreated(theirs)]
/** Every caller may write in the target project, so only the role in the source project decides. */
const target = folded(
  [elsewhereCreated, ...[admin, editor, viewer, stranger].map((user) => invitedElsewhere(user, 'EDITOR'))],
  elsewhereId,
)

const moving: Rule = (state, known) => {
  const source = state.fork()
  source.movingChildren = { subtask: [], comment: [] }
  return ruleOf(tasks.updateTask, { id: taskId, projectId: elsewhereId })(source, known, target)
}

type Line = [name: string, rule: Rule, answers: number[], row?: Command['row']]
const editing = [404, 403, 200, 200, 200]
const administering = [404, 403, 403, 200, 200]

const memberId = member.id
const here = { projectId: project.id }
const step = { id: subtask.id }
const note = { id: comment.id }

const lines: Line[] = [
  [
    'change the project',
    ruleOf(projects.updateProject, { id: project.id, name: 'N' }),
    administering,
    project,
  ],
  [
    'delete the project',
    ruleOf(projects.deleteProject, { id: project.id }),
    [404, 403, 403, 403, 200],
    project,
  ],
  ['invite', ruleOf(members.inviteMember, { ...here, email: guest.email }, { person: guest }), administering],
  ['set a role', ruleOf(members.setRole, { ...here, memberId, role: 'ADMIN' }), administering, member],
  [
    'remove the viewer',
    ruleOf(members.removeMember, { ...here, memberId }),
    [404, 200, 403, 200, 200],
    member,
  ],
  ['create a task', ruleOf(tasks.createTask, { ...here, title: 'T' }), editing],
  ['change a task', ruleOf(tasks.updateTask, { id: taskId, title: 'N' }), editing, task],
  ['append to a task', ruleOf(appendToTask, { id: taskId, field: 'description', text: 'N' }), editing, task],
  ['move a task', moving, editing, task],
  ['claim a task', ruleOf(workQueue.claimTask, { id: taskId, leaseSeconds: 60 }), editing, task],
  ['release a task', ruleOf(workQueue.releaseTask, { id: taskId }), editing, task],
  ['delete a task', ruleOf(tasks.deleteTask, { id: taskId }), editing, task],
  ['add a subtask', ruleOf(subtasks.createSubtask, { taskId, title: 'N' }), editing],
  ['toggle a subtask', ruleOf(subtasks.toggleSubtask, step), editing, subtask],
  ['change a subtask', ruleOf(subtasks.updateSubtask, step), editing, subtask],
  ['delete a subtask', ruleOf(subtasks.deleteSubtask, step), editing, subtask],
  ['comment', ruleOf(comments.createComment, { taskId, text: 'N' }), editing],
  [
    "edit the viewer's comment",
    ruleOf(comments.updateComment, { ...note, text: 'N' }),
    [404, 200, 403, 403, 403],
    theirs,
  ],
  ["delete the viewer's comment", ruleOf(comments.deleteComment, note), [404, 200, 403, 200, 200], theirs],
]

export const everyCommand = lines.map(([name, rule, answers, row = null]): Command => ({
  name,
  rule,
  answers,
  row,
}))
