import { migrate } from '../../drizzle/migrate.ts'
import { serviceFamilies } from '../../src/process/metrics-server.ts'
import {
  type Client,
  forFile,
  make,
  newFolder,
  openTestService,
  type Person,
  register,
  runBatch,
} from '../kit.ts'
import { openPostgres } from './postgres-server.ts'

/** Opens a primary with two replicas, a service that reads the replicas, and one that reads only the primary. */
export async function openStandbyScene({ mayFailOver = false } = {}) {
  const servers = await forFile(openPostgres(await newFolder()))
  await migrate(servers.url)
  const replicas = [await servers.openReplica(), await servers.openReplica()]
  const heir = mayFailOver ? await servers.startStandby({ synchronous: false }) : undefined
  const shared = { DATABASE_URL: mayFailOver ? servers.urls : servers.url }
  const plain = await forFile(openTestService(shared))
  const urls = {
    // Each read asks a database.
    BODY_CACHE_BYTES: '0',
    DATABASE_STANDBY_URLS: replicas.map(({ url }) => url).join(),
    REDIS_PREFIX: plain.env.REDIS_PREFIX!,
  }
  const service = await forFile(openTestService({ ...shared, ...urls }))
  const ada = await register(service.client, 'Ada')
  return {
    ...{ servers, heir, replicas, service, plain, ada },
    /** Ada at the service without standbys. */
    reference: { ...ada, ...plain.client.as(ada.token) } as Person,
    caughtUp: () => Promise.all(replicas.map((one) => one.caughtUp())),
    counts: () => countsOf(service.services),
    health: async () => (await service.fetch('/health/ready')).json() as Promise<Health>,
  }
}

interface Health {
  status: string
  standbys: string[]
}

type Outcome = 'standby' | 'behind' | 'failed'

/** Returns the sums over both standbys, from the metrics. */
function countsOf(services: Parameters<typeof serviceFamilies>[0]): Record<Outcome, number> {
  const family = serviceFamilies(services).find(({ name }) => name === 'docket_standby_reads_total')!
  const sums = { standby: 0, behind: 0, failed: 0 }
  for (const { labels, value } of family.values) sums[labels.outcome as Outcome] += value
  return sums
}

/** Creates a project with rows of all kinds that a standby serves, and returns paths of its current and of its immutable pages. */
export async function createProject(ada: Client, title = 'Oil the wheels') {
  const { id: projectId } = await make(ada, '/projects', { name: 'Engine' })
  const results = await runBatch(ada, projectId, [
    { op: 'label.create', as: 'label', name: 'urgent' },
    { op: 'task.create', as: 'task', title, labelIds: ['#label'] },
    { op: 'subtask.create', taskId: '#task', title: 'Draw the plate' },
    { op: 'comment.create', taskId: '#task', text: 'In brass' },
    ...Array.from({ length: 8 }, (_, n) => ({ op: 'task.create', title: `Wheel ${n}` })),
  ])
  const taskId = results[1]!.id
  const project = `/projects/${projectId}`
  const current = [
    `/tasks?projectId=${projectId}`,
    `/tasks?projectId=${projectId}&limit=3&sort=-createdAt`,
    `/tasks?projectId=${projectId}&labels=${results[0]!.id}`,
    `/tasks?projectId=${projectId}&status=DONE`,
    `/tasks?projectId=${projectId}&q=wheel`,
    `/tasks/counts?projectId=${projectId}&by=status`,
    `/tasks/counts?projectId=${projectId}&q=wheel`,
    `/tasks/${taskId}`,
    `/tasks/${taskId}/subtasks`,
    `/tasks/${taskId}/comments`,
    `/tasks/${taskId}/history`,
    project,
    `${project}/members`,
    `${project}/history`,
    `${project}/history?entity=task&limit=2`,
    `${project}/events?after=3`,
    `${project}/export?format=docket&history=true`,
    `${project}/export?format=csv`,
    `/search?projectId=${projectId}&q=oil`,
    `/search?projectId=${projectId}&q=whel`,
  ]
  const pastAt = (version: number) => [
    `/tasks?projectId=${projectId}&asOf=${version}`,
    `/tasks/counts?projectId=${projectId}&asOf=${version}`,
    `/tasks/${taskId}?asOf=${version}`,
    `/tasks/${taskId}/comments?asOf=${version}`,
    `${project}?asOf=${version}`,
    `${project}/events?after=1&limit=${version}`,
  ]
  return { projectId, taskId, current, pastAt }
}
