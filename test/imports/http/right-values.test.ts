import { expect, test } from 'bun:test'
import { openImporting } from './importing.ts'

const { importFile } = await openImporting()
const csv = (...rows: string[]) => rows.map((row) => `${row}\n`).join('')

test.each(['UTC', 'Europe/Berlin', 'America/New_York', 'Pacific/Kiritimati'])(
  'a due date at midnight is the date, with the time zone %s',
  async (timeZone) => {
    const rows = ['10/Jan/24 12:00 AM', '2024-01-10 00:00', '2024-01-10T00:00:00+02:00', '10/Jan/24 2:00 PM']
    const file = csv('Summary,Issue key,Due date', ...rows.map((due, n) => `Task ${n},A-${n},${due}`))
    const { tasks } = await importFile('jira', file, { mapping: { timeZone } })
    const day = '2024-01-10T00:00:00.000Z'
    const time = { UTC: '14', 'Europe/Berlin': '13', 'America/New_York': '19', 'Pacific/Kiritimati': '00' }
    expect(tasks.map(({ dueDate }) => dueDate)).toEqual([
      ...[day, day, day],
      `2024-01-10T${time[timeZone as 'UTC']}:00:00.000Z`,
    ])
  },
)

test.each([
  [
    'es',
    'Resumen,Clave de incidencia,Prioridad,Estado,Persona asignada,Fecha de vencimiento,Etiquetas,Comentario',
  ],
  ['es', 'Resumen,Clave de incidencia,Prioridad,Estado,Asignado a,Vencimiento,Etiquetas,Comentarios'],
  [
    'de',
    'Zusammenfassung,Vorgangsschlüssel,Priorität,Status,Zugewiesene Person,Fälligkeitsdatum,Stichwörter,Kommentar',
  ],
  ['fr', "Résumé,Clé de ticket,Priorité,État,Personne assignée,Date d'échéance,Étiquettes,Commentaire"],
  ['fr', 'Résumé,Clé de la demande,Priorité,Statut,Responsable,Échéance,Étiquettes,Commentaires'],
  ['pt', 'Resumo,Chave da item,Prioridade,Status,Responsável,Data limite,Categorias,Comentário'],
  ['pt', 'Resumo,Chave,Prioridade,Situação,Responsável,Data de vencimento,Etiquetas,Comentários'],
  ['pl', 'Podsumowanie,Klucz zgłoszenia,Priorytet,Stan,Osoba przypisana,Termin wykonania,Etykiety,Komentarz'],
] as const)('reads the columns of Jira in the language %s: %s', async (language, header) => {
  const words = {
    es: [
      'Más alta',
      'Finalizada',
      'Enlace de incidencia entrante (Blocks)',
      'Enlace de incidencia saliente (Blocks)',
    ],
    de: [
      'Höchste',
      'Fertig',
      'Eingehende Vorgangsverknüpfung (Blocks)',
      'Ausgehende Vorgangsverknüpfung (Blocks)',
    ],
    fr: ['Élevée', 'Terminé(e)', 'Lien du ticket entrant (Blocks)', 'Lien de ticket sortant (Blocks)'],
    pt: ['Altíssima', 'Concluído', 'Link de item de entrada (Blocks)', 'Link de item de saída (Blocks)'],
    pl: [
      'Najwyższy',
      'Gotowe',
      'Łącze przychodzące zgłoszenia (Blocks)',
      'Łącze wychodzące zgłoszenia (Blocks)',
    ],
  }[language]
  const [priority, status, inward, outward] = words
  const row = (n: number, links: string) =>
    `Task ${n},A-${n},${priority},${status},Ada L.,10/Jan/24 12:00 AM,brass,10/Jan/24 2:00 PM;Eve;Oil it,${links}`
  const file = csv(`${header},${inward},${outward}`, row(1, 'A-2,'), row(2, ',A-3'), row(3, ','))
  const { tasks, messages } = await importFile('jira', file)
  const [one, two, three] = tasks
  expect(tasks).toMatchObject(
    [[two!.id], [], [two!.id]].map((blockedByIds) => ({
      ...{ priority: 'HIGH', status: 'DONE', dueDate: '2024-01-10T00:00:00.000Z', labels: ['brass'] },
      ...{ description: 'Assignee: Ada L.', fields: {}, blockedByIds },
      comments: [{ text: 'Oil it', importedAuthor: 'Eve', createdAt: '2024-01-10T14:00:00.000Z' }],
    })),
  )
  expect(one!.externalId).toBe('jira:A-1')
  expect(three!.externalId).toBe('jira:A-3')
  expect(messages.filter((one) => one.startsWith('Only the columns'))).toEqual([])
})

test('says that only a key and a title of a header were recognized', async () => {
  const file = csv('Summary,Issue key,Tila,Vastuuhenkilö,Määräpäivä', 'Draw,A-1,Valmis,Ada,10.1.2024')
  const { messages } = await importFile('jira', file)
  expect(messages[0]).toMatch(/^Only the columns of titles and ids were recognized.*mapping\.columns.*"Tila"/)
})

test('completed is 100 in a column of percentages, and elsewhere 1, 100 %, yes or a date', async () => {
  const tasksOf = async (header: string, ...cells: string[]) => {
    const file = csv(`Title,"${header}"`, ...cells.map((cell, n) => `Task ${n},"${cell}"`))
    return (await importFile('csv', file)).tasks
  }
  const statusOf = async (header: string, ...cells: string[]) =>
    (await tasksOf(header, ...cells)).map(({ status }) => (status === 'DONE' ? 'done' : 'open')).join(' ')
  expect(await tasksOf('% Done', '0', '10', '50', '100')).toMatchObject([
    { status: 'TODO', fields: {} },
    { status: 'TODO', fields: { done: 10 } },
    { status: 'TODO', fields: { done: 50 } },
    { status: 'DONE', fields: {} },
  ])
  expect(await statusOf('Percent complete', '1', '99.5%', '100%', '100')).toBe('open open done done')
  expect(await statusOf('Completed', '0.5', '1', '1.0', '100 %', '50%')).toBe('open done done done open')
  expect(await statusOf('Completed', 'yes', 'TRUE', '2026-11-20', '21/Nov/26 4:05 PM')).toBe(
    'done done done done',
  )
  expect(await statusOf('Completed', 'tak', '[x]', '[ ]', 'off')).toBe('done done open open')
  expect(await statusOf('Completed', 'perhaps', '7 of 9', '0', '45000')).toBe('open open open open')
})

test('reads a list of Redmine', async () => {
  const header =
    '#,Project,Tracker,Parent task,Status,Priority,Subject,Author,Assignee,Due date,% Done,Created'
  const file = csv(
    header,
    '7,Engine,Bug,,In Progress,Urgent,Cast,Ada,Eve,2026-11-20,50,2026-11-01 10:00',
    '8,Engine,Bug,7,New,Normal,Melt,Ada,,,100,',
  )
  const { tasks } = await importFile('csv', file)
  expect(tasks).toMatchObject([
    {
      ...{
        externalId: 'csv:7',
        title: 'Cast',
        status: 'IN_PROGRESS',
        priority: 'HIGH',
        importedAuthor: 'Ada',
      },
      subtasks: [{ title: 'Melt', completed: true }],
    },
  ])
})

test('reads issues of GitLab, stories of Shortcut and tasks of Planner', async () => {
  const gitLab = csv(
    'Title,Description,Issue ID,State,Author,Assignee,Due Date,Created At (UTC),Closed At (UTC),Labels',
    'Draw,In brass,7,Closed,Ada,Eve,2026-11-20,2026-11-01 10:00:00,2026-11-02 10:00:00,"a,b"',
  )
  expect((await importFile('csv', gitLab)).tasks).toMatchObject([
    {
      ...{ externalId: 'csv:7', status: 'DONE', importedAuthor: 'Ada', labels: ['a', 'b'] },
      ...{ createdAt: '2026-11-01T10:00:00.000Z', dueDate: '2026-11-20T00:00:00.000Z' },
    },
  ])
  const shortcut = csv(
    'id,name,requester,owners,is_completed,state,labels',
    '8,Oil,Ada,Eve,FALSE,In Development,x',
  )
  expect((await importFile('csv', shortcut)).tasks).toMatchObject([
    { externalId: 'csv:8', status: 'IN_PROGRESS', importedAuthor: 'Ada', description: 'Assignee: Eve' },
  ])
  const planner = csv(
    'Task ID,Task Name,Bucket Name,Progress,Priority,Description',
    'p,Ink,Shop,Not started,Urgent,C:\\new',
  )
  expect((await importFile('csv', planner)).tasks).toMatchObject([
    { status: 'TODO', priority: 'HIGH', labels: ['Shop'], description: 'C:\\new' },
  ])
})

test('reads a file in German, a date after its weekday, and nobody as no assignee', async () => {
  const file = csv('Titel;Fällig;Zuständig;Priorität', 'Zeichnen;Mi 31.12.2024;Unassigned;Höchste')
  expect((await importFile('csv', file)).tasks).toMatchObject([
    { title: 'Zeichnen', dueDate: '2024-12-31T00:00:00.000Z', priority: 'HIGH', description: null },
  ])
})

test.each([
  ['1 - Critical', 'HIGH'],
  ['P2 (Medium)', 'MEDIUM'],
  ['⬇ Low', 'LOW'],
])('the priority %j is %s', async (priority, expected) => {
  expect((await importFile('csv', csv('Title,Priority', `Draw,${priority}`))).tasks).toMatchObject([
    { priority: expected, description: null },
  ])
})

test.each([
  ['Assignees', 'Tester, Eve', 'Also assigned: Eve'],
  ['Owner', 'Tester <nobody@example.com>, Eve Smith', 'Also assigned: Eve Smith'],
  ['Assign', 'Ada Lovelace, Eve', 'Also assigned: Eve'],
  ['Assign', 'ada@example.com,eve@example.com', 'Also assigned: eve@example.com'],
  ['Owner', 'Lovelace, Ada', 'Assignee: Lovelace, Ada'],
])('reads the people in the column %s: %s', async (header, cell, line) => {
  const { tasks } = await importFile('csv', csv(`Title,${header}`, `Draw,"${cell}"`))
  expect(String(tasks[0]!.description).split('\n')).toContain(line)
})

test('reads a list of ClickUp', async () => {
  const comments = [
    { text: 'In brass', by: 'ada@example.com', date: '3/4/2024, 3:35:48 PM GMT+1' },
    { text: 'Done', by: 'Eve', date: '1710426948000' },
  ]
  const cell = `"${JSON.stringify(comments).replaceAll('"', '""')}"`
  const row = (n: number, rest: string) => `c${n},Task ${n},${rest}`
  const file = csv(
    'Task ID,Task Name,Task Content,Status,Priority,Assignees,Tags,Comments,Size',
    row(1, `First\\nsecond,in progress,1,"[Ada]","[""brand"",""ui""]",${cell},null`),
    row(2, 'null,to do,2,[],[],[],3'),
    row(3, 'null,to do,3,[],[],[],'),
    row(4, 'null,complete,4,[],[],[],'),
  )
  const { tasks, messages } = await importFile('csv', file)
  expect(tasks.map(({ priority }) => priority)).toEqual(['HIGH', 'HIGH', 'MEDIUM', 'LOW'])
  expect(tasks).toMatchObject([
    {
      ...{ status: 'IN_PROGRESS', labels: ['brand', 'ui'], fields: {} },
      description: 'First\nsecond\n\n---\nAssignee: Ada',
      comments: [
        { text: 'In brass', importedAuthor: 'ada@example.com', createdAt: '2024-03-04T14:35:48.000Z' },
        { text: 'Done', importedAuthor: 'Eve', createdAt: '2024-03-14T14:35:48.000Z' },
      ],
    },
    { description: null, fields: { size: 3 }, comments: [], labels: [] },
    { description: null },
    { description: null, status: 'DONE' },
  ])
  expect(messages.join()).not.toContain('cannot be read')
})

test('Jira comments and mentions have the names of people whose ids are in the file', async () => {
  const id = '5b10ac8d82e05b22cc7d4ef5'
  const file = csv(
    'Summary,Issue key,Description,Assignee,Assignee Id,Comment',
    `Draw,A-1,Ask [~accountid:${id}] or [~accountid:unknown],Ada Lovelace,${id},10/Jan/24 2:00 PM;${id};For [~accountid:${id}]`,
    'Oil,A-2,,,,10/Jan/24 2:00 PM;6c;Text',
  )
  const { tasks } = await importFile('jira', file)
  expect(tasks).toMatchObject([
    {
      description: expect.stringContaining('Ask @Ada Lovelace or [~accountid:unknown]'),
      comments: [{ importedAuthor: 'Ada Lovelace', text: 'For @Ada Lovelace' }],
      fields: {},
    },
    { comments: [{ importedAuthor: '6c' }] },
  ])
})

test('reads an export of Plane', async () => {
  const file = csv(
    'Project,Sequence Id,Name,State Name,Priority,Target Date,Assignee Name,Labels,Created By',
    'Engine,ENG-1,Draw,In Progress,urgent,2026-11-20,Ada,"[""backend"", ""to do""]",Eve',
  )
  const { tasks } = await importFile('csv', file)
  expect(tasks).toMatchObject([
    {
      ...{ title: 'Draw', status: 'IN_PROGRESS', priority: 'HIGH', dueDate: '2026-11-20T00:00:00.000Z' },
      ...{ labels: ['backend', 'to do'], importedAuthor: 'Eve', description: 'Assignee: Ada' },
    },
  ])
})

test('a comment of Todoist with a file has its name and address, and the report names the file', async () => {
  const file = JSON.stringify({
    file_name: 'plan.pdf',
    file_url: 'https://files.example.com/1/plan.pdf',
    file_size: 5,
  })
  const note = `"Look [[file ${file.replaceAll('"', '""')}]]"`
  const { tasks, messages } = await importFile('todoist', csv('TYPE,CONTENT', 'task,Oil', `note,${note}`))
  expect(tasks).toMatchObject([
    { comments: [{ text: 'Look\nAttachment: plan.pdf (https://files.example.com/1/plan.pdf)' }] },
  ])
  expect(messages).toEqual(['The file "plan.pdf" was not imported, only its name and address'])
})

test.each([
  ['2026-11-20 2:00 PM (GMT+2)', '12:00'],
  ['Nov 20, 2026, 2:00 PM GMT+2', '12:00'],
  ['2026-11-20 14:00 (UTC+02:00)', '12:00'],
  ['2026-11-20 8:00 AM (EDT)', '12:00'],
  ['2026-11-20 13:00 CET', '12:00'],
  ['2026-11-20 13:00 (Europe/Berlin)', '12:00'],
  ['2026-11-20 13:00 Europe/Berlin', '12:00'],
  ['2026-11-20T13:00:00+01:00[Europe/Berlin]', '12:00'],
  ['20/11/2026, 1:00 p. m. CET', '12:00'],
  ['1795176000', '12:00'],
  ['2026-11-20 13:00:00 GMT+0100 (Central European Standard Time)', '12:00'],
])('reads the time zone of %j', async (due, time) => {
  const { tasks } = await importFile('csv', csv('Title,Due', `Draw,"${due}"`), {
    mapping: { timeZone: 'Asia/Tokyo' },
  })
  expect(tasks).toMatchObject([{ dueDate: `2026-11-20T${time}:00.000Z` }])
})

test('reports a time in an unknown time zone', async () => {
  const { tasks, messages } = await importFile('csv', csv('Title,Due', 'Draw,2026-11-20 13:00 (XYZ)'))
  expect(tasks).toMatchObject([{ dueDate: null, description: 'Due: 2026-11-20 13:00 (XYZ)' }])
  expect(messages[0]).toContain(
    'The date "2026-11-20 13:00 (XYZ)" cannot be read: its time zone is not known',
  )
})

test('a JSON file without a board fails, and the error names what is missing', async () => {
  const projects = {
    items: [{ id: '1', name: 'Engine' }],
    included: { users: [], boards: [{ id: '2', name: 'B' }] },
  }
  const { state, error } = await importFile('planka', projects)
  expect([state, error]).toEqual(['failed', expect.stringContaining('no included lists and cards')])
})

test.each([
  ['WIP', 'IN_PROGRESS'],
  ['Work in progress', 'IN_PROGRESS'],
  ['In development', 'IN_PROGRESS'],
  ['In Review', 'IN_PROGRESS'],
  ['ASSIGNED', 'IN_PROGRESS'],
  ['needsAction', 'TODO'],
  ['QA', 'IN_PROGRESS'],
  ['Selected for Development', 'TODO'],
  ['2. In progress', 'IN_PROGRESS'],
  ['✅ Done', 'DONE'],
  ['To be done', 'TODO'],
  ['Finished', 'DONE'],
])('the status %j is %s', async (status, expected) => {
  const { tasks } = await importFile('csv', csv('Title,Status', `Draw,${status}`))
  expect(tasks).toMatchObject([{ status: expected, labels: [] }])
})
