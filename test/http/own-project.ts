import { createFullProject, make, type Operation, type Person } from '../kit.ts'

/** Creates a project with one row of every entity. The owner creates all rows, so the owner may call every operation. */
export async function createOwnProject(owner: Person, guest: Person, stranger: Person) {
  const people = { owner, admin: owner, editor: owner, viewer: owner, stranger }
  const { id: projectId } = await make(owner, '/projects', { name: 'Engine' })
  const parts = await createFullProject(people, guest, projectId)
  const account = await make(owner, `/projects/${projectId}/service-accounts`, { name: 'Importer' })
  return { ...parts, accountId: account.id }
}

const commentSeq = 8

/** Returns the query parameters without which no call of the operation succeeds. */
export const queryFor = ({ operationId }: Operation, projectId: string): string =>
  ({ search: '?q=x', createImport: '?source=csv', countTasks: `?projectId=${projectId}` })[operationId] ?? ''

/** Returns the documented example of an operation's body, with the ids of this project. */
export function exampleFor(
  { requestBody, operationId }: Operation,
  { projectId, inviteeEmail }: { projectId: string; inviteeEmail: string },
): unknown {
  const { content = {} } = requestBody ?? {}
  const file = content['application/octet-stream']
  if (file) return file.example
  const example = content['application/json']?.example as object | undefined
  const values: Record<string, unknown> = { projectId, seq: commentSeq }
  if (operationId === 'inviteMember') values.email = inviteeEmail
  return example && Object.fromEntries(Object.entries(example).map(([key, one]) => [key, values[key] ?? one]))
}
