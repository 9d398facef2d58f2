import type { Calls } from '../calls/calls.ts'

export const openProjects = (calls: Calls) => ({
  create: calls.write('createProject', 'POST /projects'),
  get: calls.byId('getProject', 'GET /projects/{id}'),
  list: calls.list('listProjects', 'GET /projects'),
  update: calls.writeById('updateProject', 'PATCH /projects/{id}'),
  delete: calls.byId('deleteProject', 'DELETE /projects/{id}'),
  /** Reads a project as a file: `for await (const bytes of (await export({ projectId })).body!)`. */
  export: calls.file('exportProject', 'GET /projects/{projectId}/export'),
})
