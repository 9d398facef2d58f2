import type { IntegrationRows } from '../../drizzle/entities.ts'
import { type Integration, integrationNames } from '../../drizzle/untold.ts'
import type { Change } from './facts.ts'
import { rowAfter } from './rows.ts'

/** The integrations that a command asks for. They are loaded for each batch, because they change rarely. */
export interface WantedIntegrations {
  /** All webhooks of the project. */
  webhooks?: true
  /** A service account with its tokens. */
  accountId?: string
  /** Everything that a member created, by the id of the member or of its user; and what was created by such service accounts. */
  creator?: string
}

type IntegrationMaps = { [E in Integration]: Map<string, IntegrationRows[E]> }

/** Webhooks, service accounts and tokens of a project, as far as the commands of a batch asked for them. */
export class Integrations {
  private readonly maps: IntegrationMaps

  /** @param creators the accounts that created webhooks, as far as they exist */
  constructor(
    readonly creators: ReadonlySet<string>,
    below?: Integrations,
  ) {
    this.maps = Object.fromEntries(
      integrationNames.map((name) => [name, new Map<string, unknown>(below?.maps[name])]),
    ) as IntegrationMaps
  }

  fork(): Integrations {
    return new Integrations(this.creators, this)
  }

  get<E extends Integration>(entity: E, id: string): IntegrationRows[E] | undefined {
    return this.maps[entity].get(id)
  }

  all<E extends Integration>(entity: E): IntegrationRows[E][] {
    return [...this.maps[entity].values()]
  }

  put<E extends Integration>(entity: E, row: IntegrationRows[E]): void {
    this.maps[entity].set(row.id, row)
  }

  /** Takes over one change; with a service account its tokens end. */
  apply({ type, entity, entityId, after, untold }: Change): void {
    const row = rowAfter({ type, after })
    const rows = this.maps[entity as Integration] as Map<string, object>
    if (row) rows.set(entityId, { ...rows.get(entityId), ...row, ...untold })
    else rows.delete(entityId)
    if (row || entity !== 'service_account') return
    for (const { id, userId } of this.all('token')) if (userId === entityId) this.maps.token.delete(id)
  }
}
