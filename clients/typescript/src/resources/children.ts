import type { Calls } from '../calls/calls.ts'

export const openSubtasks = (calls: Calls) => ({
  create: calls.write('createSubtask', 'POST /tasks/{taskId}/subtasks'),
  list: calls.list('listSubtasks', 'GET /tasks/{taskId}/subtasks'),
  update: calls.writeById('updateSubtask', 'PATCH /tasks/subtasks/{id}'),
  /** Inverts `completed`. */
  toggle: calls.byId('toggleSubtask', 'PATCH /tasks/subtasks/{id}/toggle'),
  delete: calls.byId('deleteSubtask', 'DELETE /tasks/subtasks/{id}'),
})

export const openComments = (calls: Calls) => ({
  create: calls.write('createComment', 'POST /tasks/{taskId}/comments'),
  list: calls.list('listComments', 'GET /tasks/{taskId}/comments'),
  update: calls.writeById('updateComment', 'PATCH /tasks/comments/{id}'),
  delete: calls.byId('deleteComment', 'DELETE /tasks/comments/{id}'),
})
