import { isRespacingSql } from '../../../drizzle/schema/log.ts'
import type { Caller } from '../../../src/identity/rights.ts'
import { isOfBatch } from '../../../src/log/read-undo-input.ts'
import type { Sql } from '../../../src/postgres/database.ts'
import type { Services } from '../../../src/services.ts'

/** An undo of an import by a caller. */
export interface Undo {
  services: Services
  sql: Sql
  importId: string
  projectId: string
  caller: Caller
}

/** SQL for the events of a batch, with the labels and fields that they created or changed. */
export const eventsOf = ({ sql, projectId }: Undo, batch: number) => sql`
  select e.seq, e.id, e.entity, e.task_id, l.id as label_id, f.key as field_key,
    case when e.entity = 'task' then e.after ->> 'externalId' end as external_id,
    coalesce(e.entity || ' "' || coalesce(l.name, f.name) || '"', p.name) as name
  from events e
  left join labels l on e.entity = 'label' and l.id = e.entity_id
  left join task_fields f on e.entity = 'field' and f.id = e.entity_id
  left join lateral (select 'description of the project' as name from projects
    where id = e.entity_id and e.entity = 'project' and description is not null) p on true
  where e.project_id = ${projectId} and ${isOfBatch(sql, projectId, batch)}
    and not (${sql.unsafe(isRespacingSql('e'))})`
