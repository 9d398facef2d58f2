import type { TaskItem } from '../../items.ts'
import { byWord } from '../../plan/words.ts'

/** Jira exports in the language of the person. The texts of its Spanish and German exports, in the form of plain headers. */
const names = byWord({
  summary: 'resumen,zusammenfassung,résumé',
  'issue key': 'clave de incidencia,vorgangsschlüssel,clé de ticket',
  'issue id': 'id de la incidencia,vorgangs id',
  'issue type': 'tipo de incidencia,vorgangstyp,type de ticket',
  status: 'estado',
  'status category': 'categoría de estado,statuskategorie',
  priority: 'prioridad,priorität',
  assignee: 'persona asignada,zugewiesene person',
  'assignee id': 'id de la persona asignada,id der zugewiesenen person',
  reporter: 'informador,autor',
  'reporter id': 'id del informador,id des autors',
  created: 'creada,erstellt',
  updated: 'actualizada,aktualisiert',
  'due date': 'fecha de vencimiento,fälligkeitsdatum',
  description: 'descripción,beschreibung',
  labels: 'etiquetas,stichwörter',
  comment: 'comentario,kommentar',
  attachment: 'archivo adjunto,anhang',
  parent: 'principal,übergeordnet',
  'parent key': 'clave principal',
  'project key': 'clave del proyecto,projektschlüssel',
  'project name': 'nombre del proyecto,projektname',
  'inward issue link blocks': 'lien du ticket entrant blocks',
  'outward issue link blocks': 'lien de ticket sortant blocks',
})

export const jiraName = (name: string): string =>
  names.get(name) ?? name.replace(/^(campo personalizado|benutzerdefinierte felder) /, 'custom field ')

export type JiraStatus = NonNullable<TaskItem['status']>

const categories = byWord<JiraStatus>({
  TODO: 'to do,por hacer,zu erledigen',
  IN_PROGRESS: 'in progress,en curso,in arbeit,in bearbeitung',
  DONE: 'done,listo,fertig',
})

export const jiraStatus = (category: string): JiraStatus | undefined => categories.get(category.toLowerCase())

export const isJiraSubtask = (type: string): boolean =>
  /^(sub[- ]?task|subtarea|unteraufgabe|teilaufgabe)/i.test(type)
