import type { UndoSelection } from '../log/undo-input.ts'
import type { Entity } from '../model/entities.ts'
import type { FactQuery } from '../model/facts.ts'

export type Preload = Partial<Record<Entity, string[]>> & {
  movingTaskId?: string
  /** Events to read from the log. The rows of these events are loaded too. */
  undo?: UndoSelection
  integrations?: IntegrationsQuery[]
  facts?: FactQuery[]
  /** Tasks to which the input refers, besides the tasks to which loaded rows refer. */
  referencedTasks?: string[]
}

/** The integrations that a command needs. They are loaded again for each batch, because commands rarely need them. */
export interface IntegrationsQuery {
  webhooks?: true
  accountId?: string
  /** A user id or member id: loads all integrations of this user, and of the service accounts that the user created. */
  creator?: string
  /** The command revokes the tokens, so all of them are loaded. Otherwise only as many are loaded as a reply lists. */
  revokes?: boolean
}

export interface CreatorLink {
  id: string
  createdBy: string | null
}

export interface OnDemandRows {
  /** The creators, including deleted service accounts whose integrations still work. */
  links: CreatorLink[]
  isTruncated: boolean
}
