import { type Body, make } from '../support/client.ts'
import { openProject, type People } from './scene.ts'

export const expiresAt = new Date(Date.now() + 86_400_000).toISOString()
export type Token = Body & { token: string }
export type Account = Body & { memberId: string }
export const accountsAt = (projectId: string) => `/projects/${projectId}/service-accounts`
export const tokensOf = ({ projectId, id }: Account) => `${accountsAt(projectId)}/${id}/tokens`
export const addressOf = ({ id }: Account) => `${id}@service-account.invalid`

/** A service account in a project of its own, and the program that runs as it. */
export async function openServiceAccount(
  people: People,
  over: { role?: string; scopes?: string[]; projects?: string[] } = {},
) {
  const { role = 'EDITOR', scopes = ['admin'], projects } = over
  const projectId = await openProject(people)
  const account = (await make(people.admin, accountsAt(projectId), { name: 'Importer', role })) as Account
  const wanted = { name: 'T', scopes, expiresAt, ...(projects && { projects }) }
  const token = (await make(people.admin, tokensOf(account), wanted)) as Token
  return { projectId, account, token, program: people.owner.as(token.token) }
}
