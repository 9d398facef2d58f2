import type { AskedOfLog } from '../log/past.ts'
import type { Entity } from '../model/entities.ts'

export type Preload = Partial<Record<Entity, string[]>> & {
  /** The task that moves to another project: its children are loaded too. */
  leaving?: string
  /** Events that it asks of the log; the rows that they are about are loaded too. */
  past?: AskedOfLog
  integrations?: WantedIntegrations[]
}

/** The integrations that a command asks for. They are loaded for each batch, because they change rarely. */
export interface WantedIntegrations {
  webhooks?: true
  accountId?: string
  /** Everything that a member created, by the id of the member or of its user; and what was created by such service accounts. */
  creator?: string
  /** All of it, because it ends; else as much as an answer lists. */
  revokes?: boolean
}

export interface Link {
  id: string
  createdBy: string | null
}

/** Data that was loaded on demand beside rows. */
export interface Demanded {
  /** Creators, with service accounts that are deleted but created something that still works. */
  links: Link[]
  /** True when there are more tokens to end than were loaded. */
  isCut: boolean
}
