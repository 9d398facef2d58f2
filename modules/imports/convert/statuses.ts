import { caseless } from '../../../src/schema/text.ts'
import type { TaskItem } from '../items.ts'
import { type Mapping, valueFor } from '../mapping.ts'
import { byWord } from './words.ts'

type Status = NonNullable<TaskItem['status']>

/** The usual names, and those of Jira in Spanish, German, French, Portuguese and Polish, without white space. */
const known = byWord<Status>({
  TODO: 'todo,backlog,open,new,notstarted,porhacer,tareasporhacer,zuerledigen,offen,àfaire,afazer,tarefaspendentes,dozrobienia',
  IN_PROGRESS:
    'doing,inprogress,started,review,inreview,workingonit,encurso,inarbeit,inbearbeitung,encours,emandamento,wtoku',
  DONE: 'done,closed,complete,completed,resolved,archive,archived,listo,finalizada,fertig,erledigt,terminé,terminée,concluído,gotowe',
})

const lettersOf = (list: string): string => caseless(list).replace(/[^\p{L}\p{N}]+/gu, '')

/** Returns the status of a list's tasks; null if the list becomes a label. */
export function statusOf(list: string, { statuses }: Mapping): Status | null {
  const given = valueFor(statuses, list)
  return given === undefined ? (known.get(lettersOf(list)) ?? null) : given
}
