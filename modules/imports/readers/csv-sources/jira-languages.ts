import { caseless } from '../../../../src/schema/text.ts'
import type { TaskItem } from '../../items.ts'
import { byWord } from '../../convert/words.ts'

/**
 * Jira writes headers in the language of the user. These are the known headers in Spanish, German, French, Portuguese
 * and Polish, as `plain` returns them.
 */
const names = byWord({
  summary: 'resumen,zusammenfassung,résumé,resumo,podsumowanie',
  'issue key':
    'clave de incidencia,vorgangsschlüssel,clé de ticket,chave da item,chave do item,klucz zgłoszenia',
  'issue id': 'id de la incidencia,vorgangs id,id da item,id zgłoszenia',
  'issue type': 'tipo de incidencia,vorgangstyp,type de ticket,tipo de item,tipo do item,typ zgłoszenia',
  status: 'estado',
  'status category': 'categoría de estado,statuskategorie,categoria do status',
  priority: 'prioridad,priorität,prioridade',
  assignee: 'persona asignada,zugewiesene person,responsável',
  'assignee id': 'id de la persona asignada,id der zugewiesenen person,id do responsável',
  reporter: 'informador,autor,relator',
  'reporter id': 'id del informador,id des autors,id do relator',
  created: 'creada,erstellt,criado,utworzono',
  updated: 'actualizada,aktualisiert,atualizado,atualizado a,zaktualizowano',
  'due date': 'fecha de vencimiento,fälligkeitsdatum,data limite',
  description: 'descripción,beschreibung,opis',
  labels: 'etiquetas,stichwörter',
  comment: 'comentario,kommentar',
  attachment: 'archivo adjunto,anhang',
  parent: 'principal,übergeordnet,pai,element nadrzędny',
  'parent key': 'clave principal,chave pai',
  'project key': 'clave del proyecto,projektschlüssel,chave do projeto',
  'project name': 'nombre del proyecto,projektname',
  'inward issue link blocks': 'lien du ticket entrant blocks',
  'outward issue link blocks': 'lien de ticket sortant blocks',
})

export const jiraName = (name: string): string =>
  names.get(name) ??
  name.replace(/^(campo personalizado|benutzerdefinierte felder|pole niestandardowe) /, 'custom field ')

export type JiraStatus = NonNullable<TaskItem['status']>

const categories = byWord<JiraStatus>({
  TODO: 'to do,por hacer,zu erledigen,itens pendentes',
  IN_PROGRESS: 'in progress,en curso,in arbeit,in bearbeitung,em andamento',
  DONE: 'done,listo,fertig,itens concluídos',
})

export const jiraStatus = (category: string): JiraStatus | undefined => categories.get(caseless(category))

export const isJiraSubtask = (type: string): boolean =>
  /^(sub[- ]?task|subtarea|unteraufgabe|teilaufgabe|subtarefa|podzadanie)/i.test(type)
