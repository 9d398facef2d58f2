import { createFullProject, fillPath, make, makeToken, seqOf, unknownId, words } from '../kit.ts'
import type { Answer, Client, OpenApi, Person, ProjectParts, Sql, Team } from '../kit.ts'
import { callsOf } from '../support/schema-check.ts'
import { createOwnImport } from './own-import.ts'

/** Each role may do what the roles before it may do. */
export const roles = ['viewer', 'editor', 'admin', 'owner'] as const
export type Role = (typeof roles)[number]

/** The other operations of a project are open to viewers if they read, and to editors if they write. */
const ofAdmins = words(`
  updateProject inviteMember setMemberRole removeMember createField updateField deleteField createServiceAccount deleteServiceAccount
  createServiceAccountToken listServiceAccountTokens deleteServiceAccountToken createWebhook listWebhooks getWebhook updateWebhook
  deleteWebhook rotateWebhook testWebhook replayWebhook listWebhookDeliveries`)

type Documented = ReturnType<typeof callsOf> extends Generator<infer T> ? T : never

/** An operation of the document, and the lowest role that may call it; null if the operation concerns no project. */
export type Call = Documented & { id: string; role: Role | null; success: number }
export type Rows = ProjectParts & { accountId: string; tokenId: string; importId: string }

export async function readCalls(client: Client): Promise<{ api: OpenApi; calls: Call[] }> {
  const api = (await client.get('/../docs/json')).body as unknown as OpenApi
  const calls = [...callsOf(api)].map((one) => {
    const { operationId: id, responses } = one.operation
    return { ...one, id, role: roleFor(one), success: Number(Object.keys(responses)[0]) }
  })
  return { api, calls }
}

function roleFor({ method, operation: { operationId, responses } }: Documented): Role | null {
  if (!responses[404] || operationId === 'deleteToken') return null
  if (operationId === 'deleteProject') return 'owner'
  if (ofAdmins.includes(operationId)) return 'admin'
  return method === 'GET' ? 'viewer' : 'editor'
}

/** Creates a project with the rows that the operation needs, or with a row of every entity. */
export async function createRows(people: Team, guest: Person, sql: Sql, call?: Call): Promise<Rows> {
  const parts = await createFullProject(people, guest)
  const rows = { ...parts, accountId: unknownId, tokenId: unknownId }
  if (!call || call.path.includes('{accountId}')) {
    const accounts = `/projects/${parts.projectId}/service-accounts`
    rows.accountId = (await make(people.owner, accounts, { name: 'Importer' })).id
    rows.tokenId = (await makeToken(people.owner, {}, `${accounts}/${rows.accountId}/tokens`)).id
  }
  const needed = call?.operation ?? { operationId: 'getImport' }
  return { ...rows, importId: await createOwnImport(sql, people.owner, rows, needed) }
}

/** Returns the path with the ids of these rows, and the query parameters without which no call succeeds. */
export function pathOf({ id, path }: Pick<Call, 'id' | 'path'>, rows: Partial<Rows>): string {
  const { projectId } = rows
  const queries: Record<string, string> = {
    search: `?q=x&projectId=${projectId}`,
    createImport: '?source=csv',
    listTasks: `?projectId=${projectId}`,
    countTasks: `?projectId=${projectId}`,
  }
  return fillPath(path, rows as Rows) + (queries[id] ?? '')
}

/** Returns the example of the document, with the ids of these rows. */
export function bodyOf({ id, body, operation }: Call, rows: Rows): unknown {
  const own: Record<string, object> = {
    createTask: { projectId: rows.projectId },
    inviteMember: { email: rows.inviteeEmail },
    setMemberRole: { role: 'EDITOR' },
    undoProject: { seq: seqOf.subtask },
    claimNextTask: { priority: undefined },
    readEvents: { after: { [rows.projectId]: 0 } },
  }
  return body
    ? { ...body, ...own[id] }
    : operation.requestBody?.content?.['application/octet-stream']?.example
}

/** Calls an operation with valid input. */
export const send = (
  by: Client,
  call: Call,
  rows: Rows,
  headers: Record<string, string> = {},
): Promise<Answer> => by.call(call.method, pathOf(call, rows), bodyOf(call, rows), headers)
