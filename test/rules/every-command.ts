import * as comments from '../../modules/comments/decide.ts'
import * as members from '../../modules/members/decide.ts'
import * as projects from '../../modules/projects/decide.ts'
import * as subtasks from '../../modules/subtasks/decide.ts'
import * as tasks from '../../modules/tasks/decide.ts'
import type { Context } from '../../src/actor/events.ts'
import type { State } from '../../src/actor/state.ts'
import { admin, busy, comment, commentAdded, editor, elsewhereCreated, elsewhereId } from './facts.ts'
import { invitedElsewhere, memberOf, owner, project, stranger, subtask, task, viewer } from './facts.ts'
import { folded } from './given.ts'

interface Command {
  name: string
  rule(state: State, context: Context): unknown
  /** What it answers to each of the callers. */
  answers: number[]
  /** The row that it changes, if it changes one. */
  row: { eventId: string } | null
}

export const callers = [stranger, viewer, editor, admin, owner]

const { id: taskId } = task
const step = { id: subtask.id, taskId }
const note = { id: comment.id, taskId }
const theirs = { ...comment, authorId: viewer, eventId: 'their-event' }
const blank = { title: 'T', description: null, dueDate: null, assigneeId: null } as const
const newTask = { ...blank, status: 'TODO', priority: 'LOW' } as const
const guest = { userId: 'nina', role: 'VIEWER', mostMembers: 10 } as const
const member = memberOf(viewer, 'VIEWER')

/** A project where the comment is the viewer's. */
export const facts = [...busy.filter(({ entity }) => entity !== 'comment'), commentAdded(theirs)]
/** Everybody may write in the other project, so that only the role here decides. */
const target = folded(
  [elsewhereCreated, ...[admin, editor, viewer, stranger].map((user) => invitedElsewhere(user, 'EDITOR'))],
  elsewhereId,
)

const command = (name: string, rule: Command['rule'], answers: number[], row: Command['row'] = null) => ({
  name,
  rule,
  answers,
  row,
})
const editing = [404, 403, 200, 200, 200]
const administering = [404, 403, 403, 200, 200]

export const everyCommand: Command[] = [
  command(
    'change the project',
    (s, c) => projects.updateProject(s, c, { name: 'N' }),
    administering,
    project,
  ),
  command('delete the project', (s, c) => projects.deleteProject(s, c), [404, 403, 403, 403, 200], project),
  command('invite', (s, c) => members.inviteMember(s, c, guest), administering),
  command('set a role', (s, c) => members.setRole(s, c, member.id, 'ADMIN'), administering, member),
  command(
    'remove the viewer',
    (s, c) => members.removeMember(s, c, member.id),
    [404, 200, 403, 200, 200],
    member,
  ),
  command('create a task', (s, c) => tasks.createTask(s, c, newTask), editing),
  command('change a task', (s, c) => tasks.updateTask(s, c, taskId, { title: 'N' }), editing, task),
  command('move a task', (s, c) => tasks.moveTask(s, target, c, taskId, {}), editing, task),
  command('delete a task', (s, c) => tasks.deleteTask(s, c, taskId), editing, task),
  command('add a subtask', (s, c) => subtasks.addSubtask(s, c, taskId, 'N'), editing),
  command('toggle a subtask', (s, c) => subtasks.toggleSubtask(s, c, step), editing, subtask),
  command('change a subtask', (s, c) => subtasks.updateSubtask(s, c, step, {}), editing, subtask),
  command('delete a subtask', (s, c) => subtasks.deleteSubtask(s, c, step), editing, subtask),
  command('comment', (s, c) => comments.addComment(s, c, taskId, 'N'), editing),
  command(
    "edit the viewer's comment",
    (s, c) => comments.editComment(s, c, note, 'N'),
    [404, 200, 403, 403, 403],
    theirs,
  ),
  command(
    "delete the viewer's comment",
    (s, c) => comments.deleteComment(s, c, note),
    [404, 200, 403, 200, 200],
    theirs,
  ),
]
