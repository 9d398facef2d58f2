import { isId } from '../id-format.ts'
import type { UndoSelection } from '../log/undo-input.ts'
import type { Entity } from '../model/entities.ts'
import type { FactQuery } from '../model/facts.ts'
import { isPlainRow, model } from '../model/model.ts'
import { referencedTasks } from '../model/references.ts'
import type { ProjectState } from './state.ts'

export type Preload = Partial<Record<Entity, string[]>> & {
  movingTaskId?: string
  /** Events to read from the log. The rows of these events are loaded too. */
  undo?: UndoSelection
  integrations?: IntegrationsQuery[]
  facts?: FactQuery[]
  /** Tasks to which the input refers, besides the tasks to which loaded rows refer. */
  referencedTasks?: string[]
}

/** The integrations that a command needs. They are loaded again for each group, because commands rarely need them. */
export interface IntegrationsQuery {
  webhooks?: true
  accountId?: string
  /** A user id or member id: loads all integrations of this user, and of the service accounts that the user created. */
  creator?: string
  /** The command revokes the tokens, so all of them are loaded. Otherwise only as many are loaded as a reply lists. */
  revokes?: boolean
}

/** Must be fast: it runs for each command. */
export function hasLoaded(state: ProjectState, preload: Preload): boolean {
  // These rows are loaded again for each group.
  if (preload.movingTaskId || preload.undo || preload.integrations || preload.facts?.length) return false
  for (const entity of model().byRow) {
    const ids = preload[entity]
    if (!ids) continue
    for (const id of ids) {
      const row = state.row(entity, id)
      if (!row && !state.isLoaded(entity, id)) return false
      if (!row || isPlainRow(entity, row)) continue
      if (!state.knowsAll(referencedTasks(entity, row))) return false
      // The name of a claim's holder is loaded again for each group.
      if ((row as { claimedBy?: string | null }).claimedBy) return false
    }
  }
  return preload.referencedTasks === undefined || state.knowsAll(preload.referencedTasks)
}

export function missingRows(state: ProjectState, preloads: Preload[]) {
  return model().byRow.flatMap((entity) => {
    const ids = preloads.flatMap((named) => named[entity] ?? [])
    return [...new Set(ids)].flatMap((id) => (state.isLoaded(entity, id) ? [] : { entity, id }))
  })
}

/** Tasks to which loaded rows or inputs refer, if it is unknown whether the project contains them. */
export function unknownTasks(state: ProjectState, preloads: Preload[]): string[] {
  const ids = preloads.flatMap((preload) => [
    ...(preload.referencedTasks ?? []),
    ...model().byRow.flatMap((entity) =>
      (preload[entity] ?? []).flatMap((id) => referencedTasks(entity, state.row(entity, id) ?? {})),
    ),
  ])
  return [...new Set(ids)].filter((id) => isId(id) && !state.knowsAll([id]))
}
