import { type Client, make, type Person, register, runBatch } from '../support/client.ts'
import { openScene } from '../support/scene.ts'
import { unknownId } from './responses.ts'

export const callers = ['owner', 'admin', 'editor', 'viewer', 'stranger'] as const
export type Team = Record<(typeof callers)[number], Person>

/** The ids for paths and bodies. The editor wrote the comment; the member is the guest; the stranger is the invitee. */
export type ProjectParts = {
  projectId: string
  memberId: string
  inviteeEmail: string
  taskId: string
  subtaskId: string
  commentId: string
  fieldId: string
  labelId: string
  viewId: string
  webhookId: string
}

export async function registerTeam(client: Client): Promise<Team> {
  const [owner, admin, editor, viewer, stranger] = await Promise.all(callers.map(() => register(client)))
  return { owner, admin, editor, viewer, stranger } as Team
}

export async function openTeam<Name extends string = never>(
  names: Name[] = [],
  env?: Record<string, string>,
) {
  const scene = await openScene(names, env)
  const people = await registerTeam(scene.client)
  const countEvents = async (projectId: string) =>
    (await scene.sql`select from events where project_id = ${projectId}`).length
  return { ...scene, people, ...people, countEvents }
}

export async function openProject({ owner, admin, editor, viewer }: Team, name = 'Engine'): Promise<string> {
  const { id } = await make(owner, '/projects', { name })
  const members = { ADMIN: admin, EDITOR: editor, VIEWER: viewer }
  await runBatch(
    owner,
    id,
    Object.entries(members).map(([role, { email }]) => ({ op: 'member.invite', email, role })),
  )
  return id
}

/** The seqs of the events that create these rows. */
export const seqOf = { subtask: 7, comment: 11 }

/** No server listens at this port. */
export const unreachableUrl = 'http://127.0.0.1:9/hook'

/** Creates a project with one row of every entity. A test may change or remove the member `guest`. */
export async function createFullProject(people: Team, guest: Person, given?: string): Promise<ProjectParts> {
  const { owner, editor, stranger } = people
  const projectId = given ?? (await openProject(people))
  const [member, task, subtask, view, label, field] = await runBatch(owner, projectId, [
    { op: 'member.invite', email: guest.email, role: 'VIEWER' },
    { op: 'task.create', as: 'task', title: 'Wheels' },
    { op: 'subtask.create', taskId: '#task', title: 'Oil' },
    { op: 'view.create', name: 'Mine', query: {} },
    { op: 'label.create', name: 'urgent' },
    { op: 'field.create', key: 'note', name: 'Note', type: 'text' },
  ])
  const comment = await make(editor, `/tasks/${task!.id}/comments`, { text: 'Slow' })
  const webhook = await make(owner, `/projects/${projectId}/webhooks`, { url: unreachableUrl })
  return {
    projectId,
    memberId: member!.id,
    inviteeEmail: stranger.email,
    taskId: task!.id,
    subtaskId: subtask!.id,
    commentId: comment.id,
    fieldId: field!.id,
    labelId: label!.id,
    viewId: view!.id,
    webhookId: webhook.id,
  }
}

/** Puts the ids into a documented path, and returns the path relative to /api/v1. An id after `tasks/` is `taskId`. */
export const fillPath = (path: string, ids: Record<string, string>): string =>
  path
    .replace('/api/v1', '')
    .replace(/=\{(\w+)\}/, (_, name: string) => `=${ids[name]}`)
    .replace(/(\w+)s\/\{\w+\}/g, (_, kind: string) => `${kind}s/${ids[`${kind}Id`] ?? unknownId}`)
