import { type Family, gauge } from '../../src/metrics/family.ts'
import type { Sql } from '../../src/postgres/database.ts'
import type { ChangedProjects } from './changed-projects.ts'
import { countUnmerged } from './merge.ts'
import { fillState, maxCounted } from './progress.ts'

const help = {
  behind: 'Projects with changes that this worker has not indexed for the search yet.',
  lag: 'Time since the oldest change that this worker has not indexed for the search yet.',
  unmerged: 'Rows of the search index that are not merged into its tree yet.',
  filling: `Projects whose first fill of the search index is not complete, counted up to ${maxCounted}.`,
  unfilled: 'Tasks that these projects have still to fill.',
}

export async function searchFamilies(sql: Sql, changed: ChangedProjects): Promise<Family[]> {
  const [unmerged, { projects, tasks }] = await Promise.all([countUnmerged(sql), fillState(sql)])
  return [
    gauge('search_projects_behind', help.behind, changed.size),
    gauge('search_lag_seconds', help.lag, changed.lagSeconds()),
    gauge('search_unmerged_rows', help.unmerged, unmerged),
    gauge('search_filling_projects', help.filling, projects),
    gauge('search_unfilled_tasks', help.unfilled, tasks),
  ]
}
