import { type Body, make, makeToken, openProject, type Team } from '../kit.ts'

export type Account = Body & { memberId: string }
export const accountsPath = (projectId: string) => `/projects/${projectId}/service-accounts`
export const tokensPath = ({ projectId, id }: Account) => `${accountsPath(projectId)}/${id}/tokens`

/** Creates a service account in a new project; `program` is a client with a token of the account. */
export async function openServiceAccount(people: Team) {
  const projectId = await openProject(people)
  const fields = { name: 'Importer', role: 'EDITOR' }
  const account = (await make(people.admin, accountsPath(projectId), fields)) as Account
  const token = await makeToken(people.admin, {}, tokensPath(account))
  return { projectId, account, token, program: people.owner.as(token.token) }
}
