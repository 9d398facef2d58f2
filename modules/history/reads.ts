import { requireSeen } from '../../src/reads/lookups.ts'
import type { Sql } from '../../src/postgres/database.ts'
import { pageOf } from '../../src/reads/pages.ts'
import { etagAt, type Versioned } from '../../src/reads/versions.ts'
import { digestOf, pathOf } from '../../src/wire/answers.ts'
import { notFound } from '../../src/wire/refusals.ts'
import type { Query } from '../../src/commands/query.ts'
import type { Services } from '../../src/services.ts'
import { lookedAt } from '../events/pages.ts'
import { eventView } from '../events/schema.ts'
import { eventsBack } from './of-project.ts'
import { taskEventsBack } from './of-task.ts'
import { costOf, ProjectHistoryQuery, readTaskPage, readWanted, TaskHistoryQuery } from './parameters.ts'
import { taskEventView } from './schema.ts'
import { openSeeTrail } from './trails.ts'

const begins = 'Where events are kept for some days only, it begins with the oldest that is there.'
const ofProject = `Newest first, in the shape of the feed's events; names are those of now. \`from\` and \`to\` are part of what is shown. Filtered, a page looks at ${lookedAt} events at most: it may show fewer than \`limit\`, and the Link header leads on. ${begins}`
const ofTask = `The task, its subtasks and comments, newest first, through moves between projects, and also after it was deleted. Who may read the project that it is in, or was in last, sees it; what happened in projects that they may not read is left out. ${begins}`

/** What may be asked of the history: the log, newest first. */
export const historyReads = (services: Services) => ({
  ofProject: projectHistory(services),
  ofTask: taskHistory(services),
})

function projectHistory(services: Services): Query {
  const { findRole, oldestKept, serve, spend } = services
  const tagOf = openTag(services)
  return {
    about: ofProject,
    input: ProjectHistoryQuery,
    shows: eventView,
    isList: true,
    called: { id: 'listProjectHistory', tag: 'Events' },
    refuses: [notFound('Project')],
    async read({ request, caller, query, params: { id = '' } }) {
      const wanted = readWanted(query)
      const seen = await requireSeen(findRole, caller, id)
      const etag = etagAt(seen, `.${seen.renaming}${await tagOf([id])}`)
      const read = (sql: Sql) => eventsBack({ sql, oldestKept }, seen, wanted)
      const build = async () => {
        const found = await spend(caller, costOf(wanted, seen.version), read)
        return pageOf(request, found, eventView.of, ({ seq }) => [String(seq)], etag)
      }
      return serve(request, pathOf(request), etag, build, seen.version)
    },
  }
}

function taskHistory(services: Services): Query {
  const { findRole, serve } = services
  const seeTrail = openSeeTrail(services.database.reads, services.versions)
  const tagOf = openTag(services)
  return {
    about: ofTask,
    input: TaskHistoryQuery,
    shows: taskEventView,
    isList: true,
    called: { id: 'listTaskHistory', tag: 'Events' },
    refuses: [notFound('Task')],
    async read({ request, caller, query, params: { id: taskId = '' } }) {
      const page = readTaskPage(query)
      const trail = await requireSeen(seeTrail, caller, taskId, 'Task')
      const others = await Promise.all(trail.others.map((projectId) => findRole(caller, projectId)))
      const projectIds = [trail, ...others].flatMap((one: Versioned | undefined) => one?.projectId ?? [])
      // Not every caller may read the same projects.
      const tag = await tagOf(projectIds)
      const etag = etagAt(trail, `.${trail.renaming}${tag}`)
      const build = async () => {
        const found = await taskEventsBack(services.database.reads, { taskId, projectIds, ...page })
        return pageOf(request, found, taskEventView.of, ({ id }) => [id], etag)
      }
      return serve(request, pathOf(request) + tag, etag, build, trail.version)
    },
  }
}

/** What an ETag says of whose logs are shown, and of where they begin: that they begin with 1 needs no asking. */
const openTag =
  ({ config, oldestKept }: Services) =>
  async (projectIds: string[]): Promise<string> => {
    if (config.historyDays === 0 && projectIds.length === 1) return ''
    const oldest = config.historyDays > 0 ? await Promise.all(projectIds.map(oldestKept)) : []
    return `.${digestOf([...projectIds, ...oldest].join()).slice(1, -1)}`
  }
