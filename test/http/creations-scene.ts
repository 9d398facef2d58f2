import { type Body, invite, make, makeToken, type Person, register, unreachableUrl } from '../kit.ts'
import { type Account, accountsPath, tokensPath } from './account-scene.ts'

export type IntegrationEvent = Body & {
  type: string
  entity: string
  entityId: string
  actor: { id: string }
  batch: number | null
  seq: number
  after: (Body & { changed?: string[] }) | null
}
type Integrations = { webhooks: Body; serviceAccounts: Body; tokens: Body }
export type RemovalResponse = Body & { stillWorking: Integrations; revoked: Integrations }

/** Creates a project with an ADMIN, who creates a webhook, a service account and a token for the service account. */
export async function openCreations(owner: Person) {
  const admin = await register(owner.as(), 'Admin')
  const { id: projectId } = await make(owner, '/projects', { name: 'Engine' })
  const { id: memberId } = await invite(owner, projectId, admin, 'ADMIN')
  const webhooks = `/projects/${projectId}/webhooks`
  const webhook = await make(admin, webhooks, { url: `${unreachableUrl}/path-secret?key=query-secret` })
  const accounts = accountsPath(projectId)
  const account = (await make(admin, accounts, { name: 'Importer', role: 'ADMIN' })) as Account
  const token = await makeToken(admin, {}, tokensPath(account))
  const member = `/projects/${projectId}/members/${memberId}`
  const events = async (query = '') =>
    (await owner.get(`/projects/${projectId}/events?after=2${query}`)).body as unknown as IntegrationEvent[]
  return { projectId, admin, member, memberId, webhooks, webhook, account, token, events }
}

export const createdBy = (body: Body) => (body as Body & { createdBy: string | null }).createdBy
export const idsOf = (rows: { id: string }[]) => rows.map(({ id }) => id)
export const idsIn = ({ webhooks, serviceAccounts, tokens }: Integrations) =>
  [webhooks, serviceAccounts, tokens].map(idsOf)
