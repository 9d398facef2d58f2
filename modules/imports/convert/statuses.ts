import { caseless } from '../../../src/schema/text.ts'
import type { TaskItem } from '../items.ts'
import { type Mapping, valueFor } from '../mapping.ts'
import { byWord } from './texts.ts'

type Status = NonNullable<TaskItem['status']>

/** The usual names in English, Spanish, German, French, Portuguese and Polish, without white space. */
const known = byWord<Status>({
  TODO: `todo,tobedone,backlog,open,new,notstarted,unstarted,planned,queued,porhacer,tareasporhacer,pendiente,zuerledigen,offen,
    geplant,àfaire,afaire,ouvert,afazer,tarefaspendentes,pendente,dozrobienia,otwarte`,
  IN_PROGRESS: `doing,inprogress,progress,wip,workinprogress,indevelopment,started,active,ongoing,underway,working,workingonit,
    review,inreview,codereview,underreview,readyforreview,testing,intesting,intest,inqa,encurso,enprogreso,enrevisión,inarbeit,
    inbearbeitung,inprüfung,encours,enrevue,emandamento,emprogresso,emrevisão,wtoku,wtrakcie`,
  DONE: `done,closed,complete,completed,finished,resolved,archive,archived,listo,hecho,finalizado,finalizada,terminado,cerrado,
    fertig,erledigt,abgeschlossen,geschlossen,terminé,terminée,fini,fermé,concluído,concluída,feito,fechado,gotowe,zrobione,
    zakończone`,
})

const lettersOf = (list: string): string => caseless(list).replace(/[^\p{L}\p{N}]+/gu, '')

/** Returns the status of a list's tasks; null if the list becomes a label. */
export function statusOf(list: string, { statuses }: Mapping): Status | null {
  const given = valueFor(statuses, list)
  return given === undefined ? (known.get(lettersOf(list)) ?? null) : given
}
