import { headerOf, taskFields } from '../../../tasks/schema.ts'
import { byWord } from '../../convert/texts.ts'

/** Returns the plain header: `due date` for `Due date`, `due_date` and `dueDate`. */
export const plain = (header: string): string =>
  header.trim() === '#'
    ? '#'
    : header
        .normalize()
        .replace(/(\p{Ll})(\p{Lu})/gu, '$1 $2')
        .toLowerCase()
        .replace(/[^\p{L}\p{N}]+/gu, ' ')
        .trim()

/** The declared fields of tasks, by the names of their columns in our own files. */
export const declared = new Map(taskFields.map((one) => [headerOf(...one), one[1]]))
const ofDeclared = [...declared].map(([name, { otherHeaders = '' }]) => [
  name,
  `${plain(name)},${otherHeaders}`,
])

/** The targets of columns with their usual plain headers, the most certain first. `field.<key>` is a target too. */
const usualHeaders: Record<string, string> = {
  title: `title,task name,task title,card name,issue title,item name,summary,name,subject,task,issue,to do,todo,headline,item,
    story,ticket`,
  ...Object.fromEntries(ofDeclared),
  list: 'list,list name,section,section column,column,column name,bucket,bucket name,group,task list,task group',
  author: `author,reporter,creator,created by,author name,reporter name,creator name,requester,requested by,submitter,
    opened by`,
  authorEmail: 'author email,reporter email,creator email',
  assigneeEmail: 'assignee email,assigned to email,owner email',
  createdAt: `created at,created,created time,created on,created date,creation date,creation time,date created,date added,
    opened,opened at,opened on,date opened,submitted on,date submitted,reported on,date reported`,
  completed: `completed at,completed,completed on,completed time,done,is completed,completed date,date completed,closed at,
    closed,closed on,date closed,is closed,finished at,finished on,finished date,completion date,resolved,resolved at,
    resolved on,accepted at,complete,due complete,percent complete,percentage complete,percent done,percent completed`,
  parent: 'parent,parent id,parent key,parent task,parent issue,parent item,parent ticket,parent task id',
  comments: 'comments,comment,assigned comments',
  subtasks: 'subtasks,sub tasks,checklist,checklists,checklist items',
  notes: '',
  id: `issue key,key,id,identifier,task id,issue id,card id,work item id,ticket id,story id,bug id,issue iid,issue number,
    ticket number,task number,item id,item id auto generated,ref,#`,
}
export const targets = Object.keys(usualHeaders)
const ownNames = new Set([...declared.keys()].map(plain))
/** The name of a declared field is no other header of another target. Only a title takes the column from the field. */
const namesOf = Object.entries(usualHeaders).map(([target, names]): [string, string[]] => {
  const isFree = (name: string) => target === 'title' || name === plain(target) || !ownNames.has(name)
  return [target, names.split(/,\s*/).filter(isFree)]
})
/** Before the name of an entity: the target of a column with children that only their declaration names. */
export const childPrefix = 'child.'

/**
 * Returns how several columns for a target are read. `first`: the first text is used, and the others become notes.
 * `joined`: the texts become one value. `all`: all columns are read, also if their usual headers differ.
 */
export function useOf(target: string): 'first' | 'joined' | 'all' {
  if (target.startsWith('field.') || ['description', 'parent'].includes(target)) return 'joined'
  const isList =
    ['completed', 'comments', 'subtasks', 'notes'].includes(target) || declared.get(target)?.reference
  return isList ? 'all' : 'first'
}

/** The columns of a source. */
export interface ColumnFormat {
  /** The targets that differ from the usual ones, by plain header. Null: not imported. */
  columns?: Record<string, string | null>
  /** True if users name columns: only `columns` have targets, and all other columns become fields. */
  hasOwnColumns?: boolean
}

/**
 * Returns columns that the import knows and does not read.
 * @param names separated by commas
 */
export const notImported = (names: string): Record<string, null> =>
  Object.fromEntries(names.split(/,\s*/).map((name) => [name, null]))

/** Returns the targets of plain headers. Only a target with the use `all` belongs to several headers. */
export function targetsOf(headers: string[], { columns = {}, hasOwnColumns }: ColumnFormat) {
  const found = new Map(Object.entries(columns))
  if (hasOwnColumns) return found
  const taken = new Set(headers.map((header) => found.get(header)))
  // Microsoft Planner writes words such as `In progress`. Other systems write numbers in this column.
  if (headers.includes('progress') && headers.includes('bucket name')) found.set('progress', 'status')
  // GitLab writes `Created At (UTC)`.
  const nameOf = new Map(headers.map((header) => [header.replace(/ (utc|gmt)$/, ''), header]))
  for (const [target, names] of namesOf) {
    const isForAll = useOf(target) === 'all'
    const present = names.flatMap((name) => nameOf.get(name) ?? [])
    const free = present.filter((name) => !found.has(name))
    const first = taken.has(target) ? [] : free.slice(0, 1)
    for (const name of isForAll ? free : first) found.set(name, target)
  }
  return found
}

/** The words that Jira puts before the name of a custom field, in its languages. */
const customField =
  /^(?:custom field|champs? personnalisée?s?|campo personalizado|benutzerdefinierte(?:s|r)? felde?r?|pole (?:niestandardowe|własne)) /

/** Returns the name of a custom field, without the words that Jira adds. */
export const fieldName = (header: string): string => {
  const [, name] = /^[\p{L} ]+ \((.+)\)$/u.exec(header) ?? []
  return (name && customField.test(plain(header)) ? name : header.replace(/^field\./, '')).slice(0, 100)
}

/**
 * Jira writes headers in the language of the user. These are the headers in Spanish, German, French, Portuguese and
 * Polish of the columns that the import reads, as `plain` returns them. Versions of Jira use different words.
 */
const knownHeader = byWord({
  summary: `resumen,zusammenfassung,résumé,resumo,podsumowanie,temat,tytuł,título,titel,titre,thema,betreff,aufgabe,sujet,
    tâche,asunto,tarea,assunto,tarefa,zadanie,aufgabenname,nom de la tâche,nombre de la tarea,nombre de tarea,nome da tarefa,
    nazwa zadania`,
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
  reporter: `informador,informante,autor,berichterstatter,melder,rapporteur,relator,auteur,osoba zgłaszająca,zgłaszający`,
  'reporter id': `id del informador,id des autors,id du rapporteur,id do relator,id osoby zgłaszającej,id zgłaszającego`,
  creator: `creador,ersteller,créateur,criador,twórca,erstellt von,créé par,creado por,criado por,utworzone przez`,
  'creator id': 'id del creador,id des erstellers,id du créateur,id do criador,id twórcy',
  created: `creada,creado,fecha de creación,erstellt,erstellt am,angelegt,erstelldatum,création,créé,créée,créé e,date de création,criado,criada,
    criado a,data de criação,utworzono,data utworzenia`,
  updated: `actualizada,actualizado,aktualisiert,mise à jour,mis à jour,mis à jour e,atualizado,atualizada,atualizado a,
    zaktualizowano,zaktualizowany`,
  'due date': `fecha de vencimiento,fecha límite,vencimiento,fälligkeitsdatum,fällig,fälligkeit,fällig am,date d échéance,
    échéance,date limite,data limite,data de vencimento,data de entrega,prazo,termin,termin wykonania,termin realizacji,
    data wykonania,data ukończenia,abgabedatum`,
  done: `erledigt,fertig,abgeschlossen,réalisé,terminé,terminée,hecho,realizado,completado,terminado,hecha,realizada,completada,terminada,concluído,concluída,
    zrobione,ukończone`,
  closed: `geschlossen,fermé,cerrado,cerrada,fechado,fechada,zamknięto,abgeschlossen am,erledigt am,geschlossen am,terminé le,
    fermé le`,
  resolved: 'gelöst,résolu,résolue,resuelto,resuelta,resolvido,resolvida,resolvido a,rozwiązano',
  'task id': 'aufgaben id,id de la tâche,id de la tarea,id da tarefa',
  'bucket name': 'bucketname',
  'checklist items': 'prüflistenelemente,checklistenelemente',
  'blocked by': 'blockiert durch,blockiert von,bloqué par,bloqueado por,bloqueada por,zablokowane przez',
  subtasks: 'unteraufgaben,teilaufgaben,sous tâches,subtareas,subtarefas,podzadania',
  list: 'liste,lista,spalte,abschnitt,colonne,columna,sección,coluna,seção,kolumna,sekcja',
  description: 'descripción,beschreibung,descrição,opis',
  labels:
    'etiquetas,stichwörter,stichworte,étiquettes,etiquettes,categorias,rótulos,etykiety,bezeichnungen,schlagwörter',
  comment: `comentario,comentarios,kommentar,kommentare,commentaire,commentaires,comentário,comentários,komentarz,komentarze`,
  attachment: `archivo adjunto,archivos adjuntos,adjunto,anhang,anhänge,pièce jointe,pièces jointes,anexo,anexos,załącznik,
    załączniki`,
  parent: `padre,übergeordnet,übergeordneter vorgang,übergeordnetes ticket,übergeordnete aufgabe,tâche parente,parent,ticket parent,pai,element nadrzędny,nadrzędne,
    zgłoszenie nadrzędne`,
  'project key': `clave del proyecto,projektschlüssel,clé de projet,clé du projet,chave do projeto,klucz projektu,
    nombre del proyecto,projektname,nom du projet,nom de projet,nome do projeto,nazwa projektu,
    tipo de proyecto,projekttyp,type de projet,type du projet,tipo de projeto,typ projektu`,
})

/** The direction of a link between issues, in every language, such as `Lien de ticket entrant (Blocks)`. */
const inward = /inward|entrant|eingehend|entrada|interno|para dentro|przychodz|wewnętrzn/
const outward = /outward|sortant|salient|salida|ausgehend|saída|externo|para fora|wychodz|zewnętrzn/
const blocks =
  / (blocks?|blocker|bloquea|bloqueo|bloqueia|bloqueio|bloque|blocage|blockiert|blockieren|blokuje)$/

/** Such as `ID del padre` and `Identyfikator elementu nadrzędnego`. */
const ofParent = /(^| )(padre|principal|übergeordnete[nrs]?|pai|nadrzędn(y|e|a|ego|ej))( |$)| parente?( |$)/
const id = /(^| )(id|identifiant|identificador|identyfikator)( |$)/
const key = /(^| )(clave|clé|chave|klucz|(vorgangs)?schlüssel)( |$)/

/** Returns the plain, English name of a header. */
export function englishName(header: string): string {
  const name = plain(header)
  if (ofParent.test(name) && !customField.test(name)) {
    if (id.test(name)) return 'parent id'
    if (key.test(name)) return 'parent key'
  }
  if (blocks.test(name) && outward.test(name)) return 'outward issue link blocks'
  if (blocks.test(name) && inward.test(name)) return 'inward issue link blocks'
  return knownHeader(name) ?? name.replace(customField, 'custom field ')
}
