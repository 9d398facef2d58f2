import type { Calls } from '../calls/calls.ts'

export const openTasks = (calls: Calls) => ({
  create: calls.write('createTask', 'POST /tasks'),
  get: calls.byId('getTask', 'GET /tasks/{id}'),
  /** Reads tasks of one project (`projectId`) or of all projects of the caller. */
  list: calls.list('listTasks', 'GET /tasks'),
  update: calls.writeById('updateTask', 'PATCH /tasks/{id}'),
  delete: calls.byId('deleteTask', 'DELETE /tasks/{id}'),
  /** Creates the task with this `externalId`, or updates it. */
  upsert: calls.write('upsertTask', 'PUT /projects/{projectId}/tasks/external/{externalId}'),
  claim: calls.writeById('claimTask', 'POST /tasks/{id}/claim'),
  release: calls.byId('releaseTask', 'POST /tasks/{id}/release'),
  history: calls.listById('listTaskHistory', 'GET /tasks/{id}/history'),
})

export const openSearch = (calls: Calls) => calls.list('search', 'GET /search')
