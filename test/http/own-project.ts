import { make, type Person } from '../support/client.ts'
import type { Operation } from '../support/schema-check.ts'
import { createFullProject } from './scene.ts'

/** Things of somebody's own, so that no role is in the way: a fresh project with one of each. */
export async function createOwnProject(owner: Person, guest: Person, stranger: Person) {
  const people = { owner, admin: owner, editor: owner, viewer: owner, stranger }
  const { id: projectId } = await make(owner, '/projects', { name: 'Engine' })
  const things = await createFullProject(people, guest, projectId)
  const account = await make(owner, `/projects/${projectId}/service-accounts`, { name: 'Importer' })
  return { ...things, accountId: account.id }
}

/** Of the event that makes the subtask. */
const subtaskSeq = 4

/** The example that the document has of an operation's body, with these things in it. */
export function exampleFor(
  { requestBody, operationId }: Operation,
  { projectId, inviteeEmail }: { projectId: string; inviteeEmail: string },
): object | undefined {
  const example = requestBody?.content?.['application/json']?.example as object | undefined
  const known: Record<string, unknown> = { projectId, seq: subtaskSeq }
  if (operationId === 'inviteMember') known.email = inviteeEmail
  return example && Object.fromEntries(Object.entries(example).map(([key, one]) => [key, known[key] ?? one]))
}
