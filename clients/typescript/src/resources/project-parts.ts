import type { Calls } from '../calls/calls.ts'

export const openMembers = (calls: Calls) => ({
  /** Adds the user with this email to the project. */
  create: calls.write('inviteMember', 'POST /projects/{projectId}/members/invite'),
  list: calls.list('listMembers', 'GET /projects/{projectId}/members'),
  /** Sets the role. */
  update: calls.writeById('setMemberRole', 'PATCH /projects/{projectId}/members/{id}/role'),
  delete: calls.byId('removeMember', 'DELETE /projects/{projectId}/members/{id}'),
})

export const openLabels = (calls: Calls) => ({
  create: calls.write('createLabel', 'POST /projects/{projectId}/labels'),
  list: calls.list('listLabels', 'GET /projects/{projectId}/labels'),
  update: calls.writeById('updateLabel', 'PATCH /labels/{id}'),
  delete: calls.byId('deleteLabel', 'DELETE /labels/{id}'),
})

export const openFields = (calls: Calls) => ({
  create: calls.write('createField', 'POST /projects/{projectId}/fields'),
  list: calls.list('listFields', 'GET /projects/{projectId}/fields'),
  update: calls.writeById('updateField', 'PATCH /fields/{id}'),
  delete: calls.byId('deleteField', 'DELETE /fields/{id}'),
})

export const openViews = (calls: Calls) => ({
  create: calls.write('createView', 'POST /projects/{projectId}/views'),
  list: calls.list('listViews', 'GET /projects/{projectId}/views'),
  update: calls.writeById('updateView', 'PATCH /views/{id}'),
  delete: calls.byId('deleteView', 'DELETE /views/{id}'),
  /** Reads the tasks that the view selects. */
  tasks: calls.listById('listViewTasks', 'GET /views/{id}/tasks'),
})
