import { type Body, invite, make, makeToken, type Person, register } from '../support/client.ts'
import { unreachableUrl } from './scene.ts'
import { accountsPath, type Account, tokensPath } from './service-account-scene.ts'

const secretUrl = `${unreachableUrl}/path-secret?key=query-secret`

export type IntegrationEvent = Body & {
  type: string
  entity: string
  entityId: string
  actor: { id: string }
  batch: number | null
  seq: number
  after: (Body & { changed?: string[] }) | null
}
type IntegrationIds = { webhooks: Body; serviceAccounts: Body; tokens: Body }
export type RemovalResponse = Body & { stillWorking: IntegrationIds; revoked: IntegrationIds }

export type Creations = Awaited<ReturnType<typeof openCreations>>

/** A project, an ADMIN in it, and one webhook, service account and token that the ADMIN created. */
export async function openCreations(owner: Person) {
  const admin = await register(owner.as(), 'Admin')
  const { id: projectId } = await make(owner, '/projects', { name: 'Engine' })
  const { id: memberId } = await invite(owner, projectId, admin, 'ADMIN')
  const webhooks = `/projects/${projectId}/webhooks`
  const webhook = await make(admin, webhooks, { url: secretUrl })
  const account = (await make(admin, accountsPath(projectId), { name: 'Importer', role: 'ADMIN' })) as Account
  const token = await makeToken(admin, {}, tokensPath(account))
  const member = `/projects/${projectId}/members/${memberId}`
  const events = async (query = '') =>
    (await owner.get(`/projects/${projectId}/events?after=2${query}`)).body as unknown as IntegrationEvent[]
  return { projectId, admin, member, memberId, webhooks, webhook, account, token, events }
}

export const createdBy = (body: Body) => (body as Body & { createdBy: string | null }).createdBy
export const idsIn = ({ webhooks, serviceAccounts, tokens }: IntegrationIds) =>
  [webhooks, serviceAccounts, tokens].map((list) => list.map(({ id }) => id))
