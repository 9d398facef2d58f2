import type { Calls } from './calls/calls.ts'
import type { BodyOf } from './calls/types.ts'
import { children } from './declarations.ts'
import { sleep } from './retries.ts'
import type { Import } from './schemas.ts'
import type { Transport, WriteOptions } from './transport.ts'

const tokensOfAccount = '/projects/{projectId}/service-accounts/{accountId}/tokens'

/** Returns the methods of the resources of a service. */
export const openResources = (calls: Calls) => ({
  ...openChildren(calls),
  ...openProjects(calls),
  ...openParts(calls),
  ...openIntegrations(calls),
  /** Finds tasks, comments and projects by their words, ids and numbers. */
  search: calls.list('search', 'GET /search'),
})

type Release = Pick<BodyOf<'releaseTask'>, 'failed' | 'reason'> & WriteOptions

const openProjects = (
  calls: Calls,
  release = calls.writeById('releaseTask', 'POST /tasks/{id}/release'),
) => ({
  /** The account of the caller. `register`, `login`, `verifyEmail`, `forgotPassword` and `resetPassword` need no token. */
  account: {
    register: calls.write('register', 'POST /auth/register'),
    login: calls.write('login', 'POST /auth/login'),
    get: calls.plain('getMe', 'GET /auth/me'),
    update: calls.write('updateMe', 'PATCH /auth/me'),
    delete: calls.write('deleteMe', 'DELETE /auth/me'),
    /** Revokes the token of this client. */
    logout: calls.plain('logout', 'POST /auth/logout'),
    logoutAll: calls.plain('logoutAll', 'POST /auth/logout-all'),
    verifyEmail: calls.write('verifyEmail', 'POST /auth/email/verify'),
    resendVerification: calls.plain('resendVerification', 'POST /auth/email/resend'),
    forgotPassword: calls.write('forgotPassword', 'POST /auth/password/forgot'),
    resetPassword: calls.write('resetPassword', 'POST /auth/password/reset'),
    /** Reads all data of the caller as a `.tar.gz`. */
    export: calls.file('exportAccount', 'GET /export'),
  },
  projects: {
    create: calls.write('createProject', 'POST /projects'),
    get: calls.byId('getProject', 'GET /projects/{id}'),
    list: calls.list('listProjects', 'GET /projects'),
    update: calls.writeById('updateProject', 'PATCH /projects/{id}'),
    delete: calls.byId('deleteProject', 'DELETE /projects/{id}'),
    /** Reads a project as a file: `for await (const bytes of (await export({ projectId })).body!)`. */
    export: calls.file('exportProject', 'GET /projects/{projectId}/export'),
  },
  members: {
    /** Adds the user with this email to the project. */
    create: calls.write('inviteMember', 'POST /projects/{projectId}/members/invite'),
    list: calls.list('listMembers', 'GET /projects/{projectId}/members'),
    /** Sets the role. */
    update: calls.writeById('setMemberRole', 'PATCH /projects/{projectId}/members/{id}/role'),
    delete: calls.byId('removeMember', 'DELETE /projects/{projectId}/members/{id}'),
  },
  tasks: {
    create: calls.write('createTask', 'POST /tasks'),
    get: calls.byId('getTask', 'GET /tasks/{id}'),
    /** Reads tasks of one project (`projectId`) or of all projects of the caller. */
    list: calls.list('listTasks', 'GET /tasks'),
    /** Counts the tasks of a project, also by a field: `counts({ projectId, by: 'status' })`. */
    counts: calls.read('countTasks', 'GET /tasks/counts'),
    update: calls.writeById('updateTask', 'PATCH /tasks/{id}'),
    delete: calls.byId('deleteTask', 'DELETE /tasks/{id}'),
    /** Creates the task with this `externalId`, or updates it. */
    upsert: calls.write('upsertTask', 'PUT /projects/{projectId}/tasks/external/{externalId}'),
    /** Adds a text to the end of the description. It never needs `ifMatch`. */
    append: calls.writeById('appendTask', 'POST /tasks/{id}/append'),
    claim: calls.writeById('claimTask', 'POST /tasks/{id}/claim'),
    /** The options may also be fields of the input. */
    release: (id: string, { failed, reason, ...options }: Release = {}, last?: WriteOptions) =>
      release(id, { failed, reason }, { ...options, ...last }),
    history: calls.listById('listTaskHistory', 'GET /tasks/{id}/history'),
  },
})

/** The parts of a project besides its tasks. */
const openParts = (calls: Calls) => ({
  labels: {
    create: calls.write('createLabel', 'POST /projects/{projectId}/labels'),
    list: calls.list('listLabels', 'GET /projects/{projectId}/labels'),
    update: calls.writeById('updateLabel', 'PATCH /labels/{id}'),
    delete: calls.byId('deleteLabel', 'DELETE /labels/{id}'),
  },
  fields: {
    create: calls.write('createField', 'POST /projects/{projectId}/fields'),
    list: calls.list('listFields', 'GET /projects/{projectId}/fields'),
    update: calls.writeById('updateField', 'PATCH /fields/{id}'),
    delete: calls.byId('deleteField', 'DELETE /fields/{id}'),
  },
  views: {
    create: calls.write('createView', 'POST /projects/{projectId}/views'),
    list: calls.list('listViews', 'GET /projects/{projectId}/views'),
    update: calls.writeById('updateView', 'PATCH /views/{id}'),
    delete: calls.byId('deleteView', 'DELETE /views/{id}'),
    /** Reads the tasks that the view selects. */
    tasks: calls.listById('listViewTasks', 'GET /views/{id}/tasks'),
  },
  events: {
    /** Reads the events of one project after a seq, oldest first. */
    list: calls.list('listEvents', 'GET /projects/{projectId}/events'),
    /** Reads the next events of several projects. */
    read: calls.write('readEvents', 'POST /events/read'),
  },
})

const openIntegrations = (calls: Calls) => ({
  webhooks: {
    /** Only this response contains the secret. */
    create: calls.write('createWebhook', 'POST /projects/{projectId}/webhooks'),
    get: calls.byId('getWebhook', 'GET /projects/{projectId}/webhooks/{id}'),
    list: calls.list('listWebhooks', 'GET /projects/{projectId}/webhooks'),
    update: calls.writeById('updateWebhook', 'PATCH /projects/{projectId}/webhooks/{id}'),
    delete: calls.byId('deleteWebhook', 'DELETE /projects/{projectId}/webhooks/{id}'),
    /** Replaces the secret. */
    rotate: calls.byId('rotateWebhook', 'POST /projects/{projectId}/webhooks/{id}/rotate'),
    test: calls.byId('testWebhook', 'POST /projects/{projectId}/webhooks/{id}/test'),
    /** Sends the events after a seq again. */
    replay: calls.writeById('replayWebhook', 'POST /projects/{projectId}/webhooks/{id}/replay'),
    deliveries: calls.listById('listWebhookDeliveries', 'GET /projects/{projectId}/webhooks/{id}/deliveries'),
  },
  serviceAccounts: {
    create: calls.write('createServiceAccount', 'POST /projects/{projectId}/service-accounts'),
    list: calls.list('listServiceAccounts', 'GET /projects/{projectId}/service-accounts'),
    delete: calls.byId('deleteServiceAccount', 'DELETE /projects/{projectId}/service-accounts/{id}'),
    createToken: calls.write('createServiceAccountToken', `POST ${tokensOfAccount}`),
    listTokens: calls.list('listServiceAccountTokens', `GET ${tokensOfAccount}`),
    deleteToken: calls.byId('deleteServiceAccountToken', `DELETE ${tokensOfAccount}/{id}`),
  },
  /** The API tokens of the caller. */
  tokens: {
    /** Only this response contains the token. */
    create: calls.write('createToken', 'POST /tokens'),
    list: calls.list('listTokens', 'GET /tokens'),
    delete: calls.byId('deleteToken', 'DELETE /tokens/{id}'),
  },
  /** Imports of files of other systems, and of Docket. */
  imports: {
    /** Sends the file. It must not change until the call ends, because a retry sends it again. */
    create: calls.upload('createImport', 'POST /projects/{projectId}/imports'),
    get: calls.byId('getImport', 'GET /imports/{id}'),
    list: calls.list('listImports', 'GET /projects/{projectId}/imports'),
    /** Reads a line for each row that was not imported exactly. */
    report: calls.listById('listImportReport', 'GET /imports/{id}/report'),
    /** Yields the import now and after each change, until it has ended. */
    follow: (id: string, options?: { signal?: AbortSignal }) => followImport(calls.transport, id, options),
    cancel: calls.byId('cancelImport', 'DELETE /imports/{id}'),
    /** Undoes everything that the import has written. If this takes longer than 10 seconds, `undo` is not yet `done`. */
    undo: calls.byId('undoImport', 'POST /imports/{id}/undo'),
  },
})

type Children = typeof children
type Plural = keyof Children

/** Returns the methods of a list of children of tasks. @param noun the name of the child, such as `Subtask` */
const openList = <P extends Plural, Noun extends Children[P]>(calls: Calls, plural: P, noun: Noun) => ({
  create: calls.write(`create${noun}`, `POST /tasks/{taskId}/${plural}`),
  list: calls.list(`list${noun}s`, `GET /tasks/{taskId}/${plural}`),
  update: calls.writeById(`update${noun}`, `PATCH /tasks/${plural}/{id}`),
  delete: calls.byId(`delete${noun}`, `DELETE /tasks/${plural}/{id}`),
})

type Lists = { [P in Plural]: ReturnType<typeof openList<P, Children[P]>> }

/** Returns the methods of the children of tasks, by the names of their lists. */
function openChildren(calls: Calls) {
  const lists = Object.entries(children).map(([plural, noun]) => [
    plural,
    openList(calls, plural as Plural, noun),
  ])
  const all = Object.fromEntries(lists) as Lists
  /** Inverts `completed`. */
  const toggle = calls.byId('toggleSubtask', 'PATCH /tasks/subtasks/{id}/toggle')
  return { ...all, subtasks: { ...all.subtasks, toggle } }
}

const pollMs = 500
const active: unknown[] = ['queued', 'running']

/** @throws DocketError if the import cannot be read; the reason of `signal` */
async function* followImport(
  transport: Transport,
  id: string,
  { signal }: { signal?: AbortSignal } = {},
): AsyncGenerator<Import, void, void> {
  let last = ''
  for (;;) {
    const { body } = await transport.request<Import>('GET', `/imports/${encodeURIComponent(id)}`, { signal })
    const now = JSON.stringify(body)
    if (now !== last) yield body
    if (!active.includes(body.state) && !active.includes(body.undo?.state)) return
    last = now
    await sleep(pollMs, signal)
  }
}
