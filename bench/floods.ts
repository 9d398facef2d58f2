import type { Neighbours } from './neighbours.ts'
import { get, lastSeqs, of500, post, signIn } from './flood-requests.ts'
import { fresh, type PlannedRequest } from './plan.ts'
import { createOf, getTask } from './requests.ts'
import { numbers } from './seed.ts'

export interface Flood {
  name: string
  title: string
  /** Each connection repeats one of these requests. */
  requests(of: Neighbours): PlannedRequest[]
}

export const floods: Flood[] = [
  { name: 'creates', title: 'creates', requests: ({ projects }) => projects.slice(0, 20).map(createOf) },
  {
    ...{ name: 'reads', title: 'reads of another account’s task' },
    requests: ({ politeTasks, token }) => [getTask({ ...politeTasks[0]!, token })],
  },
  {
    ...{ name: 'rejected', title: 'creates with a wrong title' },
    requests: ({ projects }) => [{ ...createOf(projects[0]!), body: { title: 7 } }],
  },
  {
    ...{ name: 'lists', title: 'lists of 200 tasks, filtered' },
    requests: get((of) => `/tasks?projectId=${of.large.id}&status=TODO&sort=-dueDate&limit=200`),
  },
  {
    ...{ name: 'past', title: 'lists as of 4,750 events ago' },
    requests: get(({ large: { id, version } }) => `/tasks?projectId=${id}&asOf=${version - 4_750}`),
  },
  {
    ...{ name: 'history', title: 'history, nothing found in 5,000 events' },
    requests: get(
      ({ large: { id } }) =>
        `/projects/${id}/history?type=comment.created&from=2020-01-01T00:00:00.${fresh}Z`,
    ),
  },
  {
    ...{ name: 'feeds', title: 'POST /events/read of 1,000 projects' },
    requests: post('/events/read', ({ projects }) => ({
      after: Object.fromEntries(projects.map(({ id }) => [id, 0])),
      limit: 500,
    })),
  },
  {
    ...{ name: 'undo-dry-run', title: 'dry runs of undos of 250 events' },
    requests: post((of) => `/projects/${of.large.id}/undo?dryRun=true`, lastSeqs),
  },
  {
    ...{ name: 'undo', title: 'a stranger’s undos' },
    requests: post(
      (of) => `/projects/${of.politeTasks[0]!.projectId}/undo`,
      ({ removals }) => ({ seqs: removals }),
    ),
  },
  {
    ...{ name: 'move', title: 'moves into a stranger’s project' },
    requests: ({ movable, politeTasks, token }) => [
      { method: 'PATCH', path: `/tasks/${movable}`, token, body: { projectId: politeTasks[0]!.projectId } },
    ],
  },
  {
    ...{ name: 'batch', title: 'batches of 500 creates' },
    requests: ({ projects }) =>
      projects
        .slice(0, 20)
        .map(({ id, token }) => ({ method: 'POST', path: `/projects/${id}/batch`, token, body: of500 })),
  },
  {
    ...{ name: 'batch-dry-run', title: 'dry runs of batches of 500' },
    requests: post(
      (of) => `/projects/${of.large.id}/batch?dryRun=true`,
      () => of500,
    ),
  },
  {
    ...{ name: 'bodies', title: 'bodies of 1 MB to sign in with' },
    requests: signIn({ email: numbers(320_000).map(() => []), password: 'x' }),
  },
  {
    ...{ name: 'tokens', title: 'deletions of unknown tokens with new Idempotency-Keys' },
    requests: ({ token, large }) => [
      { method: 'DELETE', path: `/tokens/${large.id}`, token, idempotencyKey: `key-${fresh}` },
    ],
  },
  {
    ...{ name: 'logins', title: 'sign-ins with invented addresses' },
    requests: signIn({ email: `nobody-${fresh}@example.com`, password: 'secret-1' }),
  },
  {
    ...{ name: 'streams', title: 'subscribers, and as many that create' },
    requests: ({ projects, token }) => [
      { method: 'GET', path: `/projects/${projects[0]!.id}/events`, token, accept: 'text/event-stream' },
      createOf(projects[0]!),
    ],
  },
]
