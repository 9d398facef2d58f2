import { type Body, make, makeToken, openProject, type Team } from '../kit.ts'

export type Account = Body & { memberId: string }
export const accountsPath = (projectId: string) => `/projects/${projectId}/service-accounts`
export const tokensPath = ({ projectId, id }: Account) => `${accountsPath(projectId)}/${id}/tokens`
export const emailOf = ({ id }: Account) => `${id}@service-account.invalid`

/** Creates a service account in a new project; `program` is a client with a token of the account. */
export async function openServiceAccount(
  people: Team,
  options: { role?: string; scopes?: string[]; projects?: string[] } = {},
) {
  const { role = 'EDITOR', scopes = ['admin'], projects } = options
  const projectId = await openProject(people)
  const account = (await make(people.admin, accountsPath(projectId), { name: 'Importer', role })) as Account
  const over = { scopes, ...(projects && { projects }) }
  const token = await makeToken(people.admin, over, tokensPath(account))
  return { projectId, account, token, program: people.owner.as(token.token) }
}
