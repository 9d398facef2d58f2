import { forFile, invite, make, openTestService, type Person, register, unassignMember } from '../kit.ts'

type Scene = Awaited<ReturnType<typeof openScene>>
export type FullProject = Awaited<ReturnType<Scene['createFullProject']>>

const throttle = { batchRows: 3, pauseMs: 0 }

/** `createFullProject` creates a project with a member and eight tasks that are assigned to the member. */
export async function openScene() {
  const service = await forFile(openTestService({ JOB_BATCH_ROWS: '3', JOB_PAUSE_MS: '1' }))
  const ada = await register(service.client)
  const { reads } = service.services.database
  async function createFullProject() {
    const guest: Person = await register(service.client)
    const project = await make(ada, '/projects', { name: 'Shared' })
    const member = await invite(ada, project.id, guest, 'EDITOR')
    const assigned = { projectId: project.id, assigneeId: guest.id }
    const mine = []
    for (let n = 0; n < 8; n++) mine.push(await make(ada, '/tasks', { title: `Task ${n}`, ...assigned }))
    return {
      ...{ guest, project, member, mine },
      remove: () => ada.delete(`/projects/${project.id}/members/${member.id}`),
      unassign: () =>
        unassignMember(reads, service.services.run, { projectId: project.id, userId: guest.id }, throttle),
      assignees: async () => {
        const { body } = await ada.get(`/tasks?projectId=${project.id}`)
        return body.map(({ assigneeId }) => assigneeId)
      },
    }
  }
  return { service, ada, reads, createFullProject }
}
