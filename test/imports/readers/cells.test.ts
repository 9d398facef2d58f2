import { statusOf } from '../../../modules/imports/convert/names.ts'
import { readers } from '../../../modules/imports/sources.ts'
import { reading, tasksOf } from './reading.ts'

const quote = (cell: string) => `"${cell.replaceAll('"', '""')}"`
type Expected = object | ((cell: string) => object)
const isDone = { status: 'DONE' }
const unknownPriority = (cell: string) => ({
  notes: [`Priority: ${cell}`],
  messages: [`The priority "${cell}" is unknown`],
})
const open = (header: string, key: string) => (cell: string) => ({
  fields: { [key]: Number.isNaN(Number(cell)) ? cell : Number(cell) },
  messages: [`${header}: ${cell} is not 100 %, a date, yes or no: the task is not completed`],
})
const unread = (advice: string) => (cell: string) => ({
  notes: [`Due: ${cell}`],
  messages: [`The date "${cell}" cannot be read: ${advice}`],
})
const assigned = (name: string, other?: string) => ({
  ...{ assignee: { name }, ...(other && { notes: [`Also assigned: ${other}`] }) },
})

test.each<[header: string, cells: string, expected: Expected]>([
  [
    'Priority',
    'Urgent|1 - Critical|Höchste|P1|élevée|Élevé|crítico|Haut|Bloquante|Wichtig',
    { priority: 'HIGH' },
  ],
  ['Importance', 'P2 (Medium)|Normal|Normale|Majeure|Med', { priority: 'MEDIUM' }],
  ['Urgency', '⬇ Low|lowest|Bas|Mineure|menor', { priority: 'LOW' }],
  ['Priority', 'none|No priority|0|--', {}],
  ['Priority', 'extreme|constructor', unknownPriority],
  ['Completed', 'ja|WAHR|tak|yes|TRUE|1|1.0|100%|100 %|[x]|checked|t', isDone],
  ['Done', 'nein|FALSCH|0|[ ]|off|unchecked|f', {}],
  ['Closed', '2026-11-20|03/04/2026|21/Nov/26 4:05 PM', (cell) => ({ ...isDone, fields: { closed: cell } })],
  ['Done', '50%|soon|7 of 9|0.5|45000', open('Done', 'done')],
  ['% Done', '10|50|1', open('% Done', 'done')],
  ['Percent complete', '0', {}],
  ['Percent complete', '1|99.5%', open('Percent complete', 'percent_complete')],
  ['Percent complete', '100|100%', isDone],
  ['Owner', 'Unassigned|n/a', {}],
  ['Owner email', 'ada@example.com', { assignee: { name: 'ada@example.com', email: 'ada@example.com' } }],
  ['Reporter', 'Bob <bob@example.com>', { author: { name: 'Bob', email: 'bob@example.com' } }],
  ['Assignees', 'Tester, Eve|Tester;Eve|[Tester,Eve]', assigned('Tester', 'Eve')],
  ['Assign', 'Ada Lovelace, Eve', assigned('Ada Lovelace', 'Eve')],
  ['Owner', 'Ada Ray, Eve Smith|Ada Ray;Eve Smith', assigned('Ada Ray', 'Eve Smith')],
  ['Owner', 'Lovelace, Ada', assigned('Lovelace, Ada')],
  ['Tags', `['brand', 'ui']|["brand","ui"]|[brand,ui]|brand;ui|brand, ui`, { labels: ['brand', 'ui'] }],
  ['Labels', 'null|[]', {}],
  ['Checklists', '{}', {}],
  ['Note', 'null', { description: 'null' }],
  ['Size', 'null', { fields: { size: 'null' } }],
  ['Depends on', 'A-1, A-3;A-4', { blockedBy: ['A-1', 'A-3', 'A-4'] }],
  ['Progress', '50%', { fields: { progress: '50%' } }],
  ['Created', '2026-11-20 12:00', { createdAt: '2026-11-20T12:00:00.000Z' }],
  ['Deadline', 'Mi 31.12.2024', { dueDate: '2024-12-31' }],
  ['Due', '45981', unread('format the column of the spreadsheet as dates')],
  ['Due', '3/4/2026', unread('send mapping.dateFormat, such as DD/MM/YYYY')],
  ['Due', 'October 8 → October 10', unread('it has no year')],
  ['Due', 'Oct 8, 2026 → Oct 10, 2026', (cell) => ({ dueDate: '2026-10-10', notes: [`Due: ${cell}`] })],
  [
    'Due',
    `1795176000|2026-11-20 2:00 PM (GMT+2)|Nov 20, 2026, 2:00 PM GMT+2|2026-11-20 14:00 (UTC+02:00)|20/11/2026, 1:00 p. m. CET|
    2026-11-20 8:00 AM (EDT)|2026-11-20 13:00 (Europe/Berlin)|2026-11-20 13:00 europe/BERLIN|2026-11-20T13:00:00+01:00[Europe/Berlin]|
    2026-11-20 13:00:00 GMT+0100 (Central European Standard Time)`,
    { dueDate: '2026-11-20T12:00:00.000Z' },
  ],
])('reads %s: %s', async (header, cells, expected) => {
  for (const cell of cells.split('|').map((one) => one.trim())) {
    const file = `Title,${quote(header)}\na,${quote(cell)}\n`
    const mapping = { timeZone: header === 'Due' ? 'Asia/Tokyo' : 'UTC' }
    const [task] = tasksOf(await reading(readers.csv, file, { mapping }))
    const { kind: _, row, title, key, hasNoId, ...read } = task!
    expect([cell, read]).toEqual([
      cell,
      (typeof expected === 'function' ? expected(cell) : expected) as typeof read,
    ])
  }
})

test.each([
  [
    'TODO',
    'needsAction,Selected for Development,To be done,Tareas por hacer,Zu erledigen,Do zrobienia,Neu,Nouvelle,Abierta,Não iniciada,Nicht begonnen,Nowe',
  ],
  [
    'IN_PROGRESS',
    'WIP,Work in progress,In development,In Review,ASSIGNED,QA,2. In progress,In Arbeit,W toku,Peer review,En cours de revue,Fazendo',
  ],
  [
    'DONE',
    '✅ Done,Finished,Finalizada,Fertig,Terminé(e),Terminees,Gotowe,Cerrada,Résolue,Resolvidas,Gelöst,Zamknięty',
  ],
])('the status is %s for %s', (status, names) => {
  for (const name of names.split(',')) expect([name, statusOf(name, {})]).toEqual([name, status as 'TODO'])
})

/** A header, and the words for a sub-task, a category of a status, a priority and a time. */
const languages = [
  `Resumen,Clave de incidencia,ID de la incidencia,Tipo de Incidencia,Categoría de estado,Creada,Principal,Estado,Prioridad,Persona asignada,Fecha de vencimiento,Etiquetas,Comentario,Enlace de incidencia entrante (Blocks),Enlace de incidencia saliente (Blocks)|Subtarea|Por hacer|Más alta|04/dic/25 10:57 AM`,
  `Resumen,Clave,Identificador de la incidencia,Tipo de Incidencia,Categoría de estado,Creada,ID del padre,Estado,Prioridad,Asignado a,Vencimiento,Etiquetas,Comentarios,Enlace de incidencia entrante (Blocks),Enlace de incidencia saliente (Blocks)|Subtarea|Tareas por hacer|Alta|04/dic/25 10:57 AM`,
  `Zusammenfassung,Vorgangsschlüssel,Vorgangs-ID,Vorgangstyp,Statuskategorie,Erstellt,Übergeordnet,Status,Priorität,Zugewiesene Person,Fälligkeitsdatum,Stichwörter,Kommentar,Eingehende Vorgangsverknüpfung (Blocks),Ausgehende Vorgangsverknüpfung (Blocks)|Unteraufgabe|Zu erledigen|Höchste|04.12.2025 10:57`,
  `Résumé,Clé de ticket,ID de ticket,Type de ticket,Catégorie de statut,Création,ID du ticket parent,État,Priorité,Personne assignée,Date d'échéance,Étiquettes,Commentaire,Lien du ticket entrant (Blocks),Lien de ticket sortant (Blocks)|Sous-tâche|À faire|Élevée|04/déc./25 10:57 AM`,
  `Résumé,Clé de la demande,ID du ticket,Type de demande,Catégorie de statut,Création,Ticket parent,Statut,Priorité,Responsable,Échéance,Étiquettes,Commentaires,Lien du ticket entrant (Blocks),Lien de ticket sortant (Blocks)|Sous-tâche|À faire|La plus haute|04/déc./25 10:57 AM`,
  `Resumo,Chave da item,ID da item,Tipo de item,Categoria do status,Criado,Pai,Status,Prioridade,Responsável,Data limite,Categorias,Comentário,Link de item de entrada (Blocks),Link de item de saída (Blocks)|Subtarefa|Itens Pendentes|Altíssima|04/dez/25 10:57 AM`,
  `Resumo,Chave,ID do item,Tipo de item,Categoria do status,Criado,ID do item pai,Situação,Prioridade,Responsável,Data de vencimento,Etiquetas,Comentários,Link de item de entrada (Blocks),Link de item de saída (Blocks)|Subtarefa|Tarefas pendentes|Muito alta|04/dez/25 10:57 AM`,
  `Podsumowanie,Klucz zgłoszenia,Id. zgłoszenia,Typ zgłoszenia,Status Category,Utworzono,Element nadrzędny,Stan,Priorytet,Osoba przypisana,Termin wykonania,Etykiety,Komentarz,Łącze przychodzące zgłoszenia (Blocks),Łącze wychodzące zgłoszenia (Blocks)|Podzadanie|To Do|Najwyższy|04.12.2025 10:57`,
  `Podsumowanie,Klucz,Identyfikator zgłoszenia,Typ zgłoszenia,Status Category,Utworzono,Identyfikator nadrzędny,Status,Priorytet,Osoba przypisana,Termin wykonania,Etykiety,Komentarz,Łącze przychodzące zgłoszenia (Blocks),Łącze wychodzące zgłoszenia (Blocks)|Podzadanie|Do zrobienia|Wysoki|04.12.2025 10:57`,
]

test.each(languages)('reads issues of Jira in the language of %s', async (language) => {
  const [header, type, category, priority, at] = language.split('|')
  const rest = `${category},${at}`
  const file = [
    header,
    `a,M-1,1,Epic,${rest},,x,,,,,,,M-2`,
    `b,M-2,2,${type},${rest},1,x,${priority},Ada L.,${at},brass,${at};Eve;Oil it,M-3,`,
    `c,M-3,3,Task,${rest},,x,,,,,,,`,
  ].join('\n')
  const createdAt = '2025-12-04T10:57:00.000Z'
  for (const form of ['NFC', 'NFD'])
    expect((await reading(readers.jira, file.normalize(form))).items.slice(-3, -1)).toMatchObject([
      {
        ...{
          title: 'b',
          key: 'M-2',
          parent: 'M-1',
          list: 'x',
          status: 'TODO',
          createdAt,
          dueDate: createdAt,
        },
        ...{ priority: 'HIGH', assignee: { name: 'Ada L.' }, labels: ['brass'], blockedBy: ['M-3', 'M-1'] },
      },
      { kind: 'comment', task: 'M-2', text: 'Oil it', author: { name: 'Eve' }, createdAt },
    ])
})
