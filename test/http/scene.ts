import { type Client, invite, make, type Person, register } from '../support/client.ts'
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
  env: Record<string, string> = {},
) {
  const scene = await openScene(names, env)
  const people = await registerTeam(scene.client)
  const countEvents = async (projectId: string) =>
    (await scene.sql`select from events where project_id = ${projectId}`).length
  return { ...scene, people, ...people, countEvents }
}

export async function openProject({ owner, admin, editor, viewer }: Team, name = 'Engine'): Promise<string> {
  const { id } = await make(owner, '/projects', { name })
  await Promise.all([
    invite(owner, id, admin, 'ADMIN'),
    invite(owner, id, editor, 'EDITOR'),
    invite(owner, id, viewer, 'VIEWER'),
  ])
  return id
}

/** The seqs of the events that create these rows. */
export const seqOf = { subtask: 7, comment: 8 }

/** No server listens at this port. */
export const unreachableUrl = 'http://127.0.0.1:9/hook'

/** Creates a project with one row of every entity. A test may change or remove the member `guest`. */
export async function createFullProject(people: Team, guest: Person, given?: string): Promise<ProjectParts> {
  const { owner, editor, stranger } = people
  const projectId = given ?? (await openProject(people))
  const member = await invite(owner, projectId, guest)
  const { id: taskId } = await make(owner, '/tasks', { title: 'Wheels', projectId })
  const subtask = await make(owner, `/tasks/${taskId}/subtasks`, { title: 'Oil' })
  const comment = await make(editor, `/tasks/${taskId}/comments`, { text: 'Slow' })
  const view = await make(owner, `/projects/${projectId}/views`, { name: 'Mine', query: {} })
  const label = await make(owner, `/projects/${projectId}/labels`, { name: 'urgent' })
  const webhook = await make(owner, `/projects/${projectId}/webhooks`, { url: unreachableUrl })
  const field = await make(owner, `/projects/${projectId}/fields`, {
    key: 'note',
    name: 'Note',
    type: 'text',
  })
  const rows = {
    subtaskId: subtask.id,
    commentId: comment.id,
    labelId: label.id,
    viewId: view.id,
    fieldId: field.id,
  }
  const ids = { memberId: member.id, taskId, ...rows }
  return { projectId, inviteeEmail: stranger.email, webhookId: webhook.id, ...ids }
}

/** Puts the ids into a documented path, and returns the path relative to /api/v1. An id after `tasks/` is `taskId`. */
export const fillPath = (path: string, ids: Record<string, string>): string =>
  path
    .replace('/api/v1', '')
    .replace(/=\{(\w+)\}/, (_, name: string) => `=${ids[name]}`)
    .replace(/(\w+)s\/\{\w+\}/g, (_, kind: string) => `${kind}s/${ids[`${kind}Id`] ?? unknownId}`)
