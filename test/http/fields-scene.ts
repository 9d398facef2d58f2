import { type Body, make, openProject, openTeam } from '../kit.ts'

export type TaskWithFields = Body & { fields: Record<string, unknown> }

/** Opens a service and a team, with helpers for fields and their values. */
export async function openFieldsScene() {
  const team = await openTeam()
  const { people, admin, editor, viewer } = team
  return {
    ...team,
    project: () => openProject(people),
    add: (projectId: string, key: string, type = 'text', more: object = {}) =>
      make(admin, `/projects/${projectId}/fields`, { key, name: key, type, ...more }),
    create: (projectId: string, body: object = {}) =>
      make(editor, '/tasks', { title: 'T', projectId, ...body }) as Promise<TaskWithFields>,
    read: async (id: string, query = '') => (await viewer.get(`/tasks/${id}${query}`)).body as TaskWithFields,
    patch: (id: string, fields: object, headers = {}) => editor.patch(`/tasks/${id}`, { fields }, headers),
  }
}
