import { caseless } from '../../../../src/schema/text.ts'
import { byWord } from '../../convert/texts.ts'
import type { TaskItem } from '../../items.ts'
import { customField } from '../csv/columns.ts'

/**
 * Jira writes headers in the language of the user. These are the headers in Spanish, German, French, Portuguese and
 * Polish of the columns that the import reads, as `plain` returns them. Versions of Jira use different words.
 */
const names = byWord({
  summary: 'resumen,zusammenfassung,résumé,resumo,podsumowanie,temat,tytuł,título,titel,titre',
  'issue key': `clave de incidencia,clave de la incidencia,clave,vorgangsschlüssel,schlüssel,clé de ticket,clé du ticket,
    clé de la demande,clé de demande,clé,chave da item,chave do item,chave da pendência,chave do ticket,chave,
    klucz zgłoszenia,klucz`,
  'issue id': `id de la incidencia,id de incidencia,vorgangs id,id du ticket,id de ticket,identifiant du ticket,
    identifiant de ticket,id de la demande,id da item,id do item,id da pendência,id do ticket,id zgłoszenia,
    identificador de la incidencia,identificador do item,identyfikator zgłoszenia`,
  'issue type': `tipo de incidencia,vorgangstyp,type de ticket,type du ticket,type de demande,tipo de item,tipo do item,
    tipo de pendência,tipo de ticket,typ zgłoszenia`,
  status: 'estado,état,statut,situação,stan',
  'status category': `categoría de estado,categoría del estado,statuskategorie,catégorie d état,catégorie de statut,
    catégorie du statut,categoria do status,categoria de status,kategoria statusu,kategoria stanu`,
  priority: 'prioridad,priorität,priorité,prioridade,priorytet',
  assignee: `persona asignada,asignado a,asignado,zugewiesene person,bearbeiter,zugewiesen an,zuständig,personne assignée,responsable,
    attribué à,assigné à,responsável,atribuído a,osoba przypisana,przypisana osoba,przypisano do,przypisany,wykonawca`,
  'assignee id': `id de la persona asignada,id der zugewiesenen person,id de la personne assignée,id du responsable,
    id do responsável,id osoby przypisanej,id przypisanej osoby`,
  reporter: `informador,informante,autor,berichterstatter,melder,rapporteur,relator,osoba zgłaszająca,zgłaszający`,
  'reporter id': `id del informador,id des autors,id du rapporteur,id do relator,id osoby zgłaszającej,id zgłaszającego`,
  creator: 'creador,ersteller,créateur,criador,twórca',
  'creator id': 'id del creador,id des erstellers,id du créateur,id do criador,id twórcy',
  created: `creada,creado,fecha de creación,erstellt,erstelldatum,création,créé,créée,créé e,date de création,criado,criada,
    criado a,data de criação,utworzono,data utworzenia`,
  updated: `actualizada,actualizado,aktualisiert,mise à jour,mis à jour,mis à jour e,atualizado,atualizada,atualizado a,
    zaktualizowano,zaktualizowany`,
  'due date': `fecha de vencimiento,fecha límite,vencimiento,fälligkeitsdatum,fällig,fälligkeit,fällig am,date d échéance,
    échéance,date limite,data limite,data de vencimento,data de entrega,prazo,termin,termin wykonania,termin realizacji,
    data wykonania,data ukończenia`,
  description: 'descripción,beschreibung,descrição,opis',
  labels: 'etiquetas,stichwörter,stichworte,étiquettes,etiquettes,categorias,rótulos,etykiety',
  comment: `comentario,comentarios,kommentar,kommentare,commentaire,commentaires,comentário,comentários,komentarz,komentarze`,
  attachment: `archivo adjunto,archivos adjuntos,adjunto,anhang,anhänge,pièce jointe,pièces jointes,anexo,anexos,załącznik,
    załączniki`,
  parent: `principal,padre,übergeordnet,übergeordneter vorgang,parent,ticket parent,pai,element nadrzędny,nadrzędne,
    zgłoszenie nadrzędne`,
  'project key':
    'clave del proyecto,projektschlüssel,clé de projet,clé du projet,chave do projeto,klucz projektu',
  'project name':
    'nombre del proyecto,projektname,nom du projet,nom de projet,nome do projeto,nazwa projektu',
  'project type': 'tipo de proyecto,projekttyp,type de projet,type du projet,tipo de projeto,typ projektu',
})

/** The direction of a link between issues, in every language, such as `Lien de ticket entrant (Blocks)`. */
const inward = /inward|entrant|eingehend|entrada|interno|para dentro|przychodz|wewnętrzn/
const outward = /outward|sortant|salient|salida|ausgehend|saída|externo|para fora|wychodz|zewnętrzn/
const blocks =
  / (blocks?|blocker|bloquea|bloqueo|bloqueia|bloqueio|bloque|blocage|blockiert|blockieren|blokuje)$/

/** Such as `ID del padre` and `Identyfikator elementu nadrzędnego`. */
const ofParent = /(^| )(padre|principal|übergeordnete[nrs]?|parente?|pai|nadrzędn(y|e|a|ego|ej))( |$)/
const id = /(^| )(id|identifiant|identificador|identyfikator)( |$)/
const key = /(^| )(clave|clé|chave|klucz|(vorgangs)?schlüssel)( |$)/

export function jiraName(name: string): string {
  if (ofParent.test(name) && !customField.test(name)) {
    if (id.test(name)) return 'parent id'
    if (key.test(name)) return 'parent key'
  }
  if (blocks.test(name) && outward.test(name)) return 'outward issue link blocks'
  if (blocks.test(name) && inward.test(name)) return 'inward issue link blocks'
  return names.get(name) ?? name.replace(customField, 'custom field ')
}

export type JiraStatus = NonNullable<TaskItem['status']>

const categories = byWord<JiraStatus>({
  TODO: 'to do,new,por hacer,tareas por hacer,zu erledigen,à faire,a faire,itens pendentes,tarefas pendentes,a fazer,do zrobienia',
  IN_PROGRESS:
    'in progress,indeterminate,en curso,in arbeit,in bearbeitung,en cours,em andamento,w toku,w trakcie',
  DONE: `done,complete,listo,finalizado,finalizada,hecho,fertig,erledigt,terminé,terminée,terminé(e),terminé e,fini,
    itens concluídos,concluído,concluída,gotowe,zrobione,ukończone`,
})

export const jiraStatus = (category: string): JiraStatus | undefined => categories.get(caseless(category))

export const isJiraSubtask = (type: string): boolean =>
  /^(sub[- ]?(task|tarea|tarefa|aufgabe)|unteraufgabe|teilaufgabe|sous[- ]t[âa]che|podzadanie|zadanie podrzędne)/i.test(
    type.normalize(),
  )
