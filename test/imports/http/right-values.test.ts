import { openImporting } from './importing.ts'

const { importFile, newProject } = await openImporting()
const csv = (...rows: string[]) => rows.map((row) => `${row}\n`).join('')
const json = (value: unknown) => JSON.stringify(value).replaceAll('"', '""')

test.each(['UTC', 'Europe/Berlin', 'America/New_York', 'Pacific/Kiritimati'])(
  'a due date at midnight is the date, with the time zone %s',
  async (timeZone) => {
    const rows = ['10/Jan/24 12:00 AM', '2024-01-10 00:00', '2024-01-10T00:00:00+02:00', '10/Jan/24 2:00 PM']
    const file = csv('Summary,Issue key,Due date', ...rows.map((due, n) => `Task ${n},A-${n},${due}`))
    const { tasks } = await importFile('jira', file, { mapping: { timeZone } })
    const time = { UTC: '14', 'Europe/Berlin': '13', 'America/New_York': '19', 'Pacific/Kiritimati': '00' }
    expect(tasks.map(({ dueDate }) => dueDate)).toEqual(
      ['00', '00', '00', time[timeZone as 'UTC']].map((hour) => `2024-01-10T${hour}:00:00.000Z`),
    )
  },
)

test('milliseconds at midnight in the given time zone are a date', async () => {
  const file = csv('Title,Due date,Created', 'Draw,1767222000000,1767222000000', 'Oil,1767222001000,')
  const { tasks } = await importFile('csv', file, { mapping: { timeZone: 'Europe/Berlin' } })
  const [draw, oil] = tasks
  expect(draw).toMatchObject({ dueDate: '2026-01-01T00:00:00.000Z', createdAt: '2025-12-31T23:00:00.000Z' })
  expect(oil!.dueDate).toBe('2025-12-31T23:00:01.000Z')
})

interface Case {
  source?: string
  file: string | object
  tasks?: object[]
  /** Lines that the report contains. */
  messages?: string[]
}

const account = '5b10ac8d82e05b22cc7d4ef5'
const clickUpComments = [
  { text: 'In brass', by: 'ada@example.com', date: '3/4/2024, 3:35:48 PM GMT+1' },
  { text: 'Done', by: 'Eve', date: '1710426948000' },
]
const attachment = { file_name: 'plan.pdf', file_url: 'https://files.example.com/1/plan.pdf', file_size: 5 }

const cases: Record<string, Case> = {
  'equal rows without ids are different tasks': {
    file: csv('Title,Status', 'Draw,todo', 'Draw,todo', 'Oil,todo'),
    tasks: ['Draw', 'Draw', 'Oil'].map((title) => ({ title })),
  },
  'only a key and a title of the header are recognized': {
    source: 'jira',
    file: csv('Summary,Issue key,Tila,Vastuuhenkilö,Määräpäivä', 'Draw,A-1,Valmis,Ada,10.1.2024'),
    messages: [
      'Only the columns of titles and ids were recognized',
      'send mapping.columns, such as {"Tila": "status"}',
    ],
  },
  Redmine: {
    file: csv(
      '#,Project,Tracker,Parent task,Status,Priority,Subject,Author,Assignee,Due date,% Done,Created',
      '7,Engine,Bug,,In Progress,Urgent,Cast,Ada,Eve,2026-11-20,50,2026-11-01 10:00',
      '8,Engine,Bug,7,New,Normal,Melt,Ada,,,100,',
    ),
    tasks: [
      {
        ...{
          externalId: 'csv:7',
          title: 'Cast',
          status: 'IN_PROGRESS',
          priority: 'HIGH',
          importedAuthor: 'Ada',
        },
        ...{ fields: { done: 50 }, subtasks: [{ title: 'Melt', completed: true }] },
      },
    ],
  },
  'Redmine in German': {
    file: csv(
      '#;Übergeordnetes Ticket;Status;Priorität;Thema;Autor;Zugewiesen an;Abgabedatum;% erledigt;Angelegt',
      '7;;In Bearbeitung;Hoch;Gießen;Ada;Eve;20.11.2026;50;01.11.2026 um 10:00 Uhr',
      '8;7;Erledigt;Normal;Ölen;Ada;;;100;01.11.2026 10:00',
    ),
    tasks: [
      {
        ...{
          externalId: 'csv:7',
          title: 'Gießen',
          status: 'IN_PROGRESS',
          priority: 'HIGH',
          importedAuthor: 'Ada',
        },
        ...{
          dueDate: '2026-11-20T00:00:00.000Z',
          createdAt: '2026-11-01T10:00:00.000Z',
          fields: { erledigt: 50 },
        },
        subtasks: [{ title: 'Ölen', completed: true }],
      },
    ],
  },
  'Notion, in which tasks refer to titles': {
    file: csv(
      'Name,Assign,Due,Parent item,Blocked by,Done',
      'Big plate,"Ada Lovelace, Bob Ray","November 20, 2026 2:00 PM (GMT+2)",,,No',
      'Draw it,,,Big plate (https://www.notion.so/Big-1?pvs=21),,Yes',
      'Oil it,,,,"Big plate (https://www.notion.so/Big-1), Other (https://www.notion.so/2)",No',
    ),
    tasks: [
      {
        ...{ dueDate: '2026-11-20T12:00:00.000Z', subtasks: [{ title: 'Draw it', completed: true }] },
        description: 'Assignee: Ada Lovelace\nAlso assigned: Bob Ray',
      },
      { description: 'Blocked by: Other (https://www.notion.so/2)', blockedByIds: [expect.anything()] },
    ],
  },
  'Trello, exported as CSV': {
    file: csv(
      'Card ID,Card Name,Card Description,Labels,Members,Due Date,List Name,Due Complete',
      'c,Draw,In ink,"bug (red),(sky),cut (two)",Ada,2026-11-20T10:00:00.000Z,Doing,true',
    ),
    tasks: [
      {
        externalId: 'csv:c',
        status: 'DONE',
        labels: expect.arrayContaining(['bug', 'sky', 'cut (two)']),
        description: 'In ink\n\n---\nAssignee: Ada',
      },
    ],
  },
  GitLab: {
    file: csv(
      'Title,Description,Issue ID,State,Author,Assignee,Due Date,Created At (UTC),Closed At (UTC),Labels',
      'Draw,In brass,7,Closed,Ada,Eve,2026-11-20,2026-11-01 10:00:00,2026-11-02 10:00:00,"a,b"',
    ),
    tasks: [
      {
        ...{ externalId: 'csv:7', status: 'DONE', importedAuthor: 'Ada', labels: ['a', 'b'] },
        ...{ createdAt: '2026-11-01T10:00:00.000Z', dueDate: '2026-11-20T00:00:00.000Z' },
      },
    ],
  },
  Shortcut: {
    file: csv('id,name,requester,owners,is_completed,state', '8,Oil,Ada,Eve,FALSE,In Development'),
    tasks: [
      { externalId: 'csv:8', status: 'IN_PROGRESS', importedAuthor: 'Ada', description: 'Assignee: Eve' },
    ],
  },
  'Microsoft Planner': {
    file: csv(
      'Task ID,Task Name,Bucket Name,Progress,Priority,Description,Assigned To,Checklist Items',
      'p,Ink,Shop,Not started,Urgent,C:\\new,Ada;Bob Smith;Eve,one;two',
    ),
    tasks: [
      {
        ...{ externalId: 'csv:p', status: 'TODO', priority: 'HIGH', labels: ['Shop'] },
        description: 'C:\\new\n\n---\nAssignee: Ada\nAlso assigned: Bob Smith, Eve',
        subtasks: [{ title: 'one', completed: false }, { title: 'two' }],
      },
    ],
  },
  Plane: {
    file: csv(
      'Project,Sequence Id,Name,State Name,Priority,Target Date,Assignee Name,Labels,Created By',
      'Engine,ENG-1,Draw,In Progress,urgent,2026-11-20,Ada,"[""backend"", ""to do""]",Eve',
    ),
    tasks: [
      {
        ...{ title: 'Draw', status: 'IN_PROGRESS', priority: 'HIGH', dueDate: '2026-11-20T00:00:00.000Z' },
        ...{ labels: ['backend', 'to do'], importedAuthor: 'Eve', description: 'Assignee: Ada' },
      },
    ],
  },
  ClickUp: {
    file: csv(
      'Task ID,Task Name,Task Content,Status,Priority,Assignees,Tags,Comments,Size,Checklists,Date Created',
      `c1,First,First\\nsecond,in progress,1,"[Ada,Bob]","[""brand"",""ui""]","${json(clickUpComments)}",null,"${json({ A: ['Cut', 'Oil'] })}",1791288000000`,
      'c2,null,null,to do,2,[],[],[],3,{},',
      'c3,Third,null,to do,3,null,[],[],,,',
      'c4,Fourth,null,complete,4,[],[],[],,,',
    ),
    tasks: [
      {
        ...{ status: 'IN_PROGRESS', priority: 'HIGH', labels: ['brand', 'ui'], fields: {} },
        subtasks: [{ title: 'Cut' }, { title: 'Oil' }],
        description: 'First\nsecond\n\n---\nAssignee: Ada\nAlso assigned: Bob',
        comments: [
          { text: 'In brass', importedAuthor: 'ada@example.com', createdAt: '2024-03-04T14:35:48.000Z' },
          { text: 'Done', importedAuthor: 'Eve', createdAt: '2024-03-14T14:35:48.000Z' },
        ],
      },
      { title: 'null', description: null, priority: 'HIGH', fields: { size: 3 }, comments: [], labels: [] },
      { description: null, priority: 'MEDIUM', assigneeId: null },
      { description: null, priority: 'LOW', status: 'DONE' },
    ],
  },
  'comments and mentions of Jira with the ids of people whose names the file has': {
    source: 'jira',
    file: csv(
      'Summary,Issue key,Description,Assignee,Assignee Id,Comment',
      `Draw,A-1,Ask [~accountid:${account}] or [~accountid:x],Ada Lovelace,${account},10/Jan/24 2:00 PM;${account};For [~accountid:${account}]`,
      'Oil,A-2,,,,10/Jan/24 2:00 PM;6c;Text',
    ),
    tasks: [
      {
        description: expect.stringContaining('Ask @Ada Lovelace or [~accountid:x]'),
        ...{ comments: [{ importedAuthor: 'Ada Lovelace', text: 'For @Ada Lovelace' }], fields: {} },
      },
      { comments: [{ importedAuthor: '6c' }] },
    ],
  },
  'a comment of Todoist with a file': {
    source: 'todoist',
    file: csv('TYPE,CONTENT', 'task,Oil', `note,"Look [[file ${json(attachment)}]]"`),
    tasks: [{ comments: [{ text: 'Look\nAttachment: plan.pdf (https://files.example.com/1/plan.pdf)' }] }],
    messages: ['The file "plan.pdf" was not imported, only its name and address'],
  },
  'tasks of Asana that refer to names outside the file': {
    source: 'asana',
    file: csv(
      'Task ID,Name,Parent task,Blocked By (Dependencies),Blocking (Dependencies)',
      '71,Cast,Elsewhere,"Melt, Draw",Ship',
      '72,Draw,,,',
    ),
    tasks: [{ description: 'Blocked by: Melt\nBlocking: Ship\nParent: Elsewhere' }, { title: 'Draw' }],
    messages: ['Blocked tasks are not in the file'],
  },
  'Redmine in French, with headers without accents': {
    file: csv(
      '#;Tâche parente;Statut;Priorité;Sujet;Auteur;Assigné à;Echéance;% réalisé;Créé',
      '7;;Rejeté;Bas;Fondre;Ada;Eve;20/11/2026;50;01/11/2026 10:00',
      '8;;Nouveau;Immédiat;Couler;Ada;;1er décembre 2026 à 14h30;0;',
    ),
    tasks: [
      {
        ...{ status: 'DONE', labels: ['Rejeté'], priority: 'LOW', importedAuthor: 'Ada' },
        ...{ dueDate: '2026-11-20T00:00:00.000Z', createdAt: '2026-11-01T10:00:00.000Z' },
      },
      { priority: 'HIGH', dueDate: '2026-12-01T14:30:00.000Z' },
    ],
  },
  'tasks that were dropped, and keep the label': {
    file: csv('Title,Status', "Draw,Won't fix", 'Oil,Cancelled', 'Cut,On hold'),
    tasks: [
      { status: 'DONE', labels: ["Won't fix"] },
      { status: 'DONE', labels: ['Cancelled'] },
      { status: 'TODO', labels: ['On hold'] },
    ],
  },
  'the progress from the list if the status is only open or closed': {
    file: csv('Title,Status,Column', 'Draw,Open,Work in progress', 'Oil,Closed,Work in progress'),
    tasks: [{ status: 'IN_PROGRESS' }, { status: 'DONE' }],
  },
  'Notion with ids, in which tasks refer to titles': {
    file: csv(
      'Name,ID,Parent item,Blocked by',
      '"Draw, in ink",T-1,,',
      'Cut,T-2,"Draw, in ink (https://www.notion.so/Draw-1)",',
      'Oil,T-3,,"Draw, in ink (https://www.notion.so/Draw-1), Gone (https://www.notion.so/Gone-2)"',
      'Ship,T-4,,T-1 T-3',
    ),
    tasks: [
      { externalId: 'csv:T-1', subtasks: [{ title: 'Cut' }] },
      {
        blockedByIds: [expect.anything()],
        description: expect.stringContaining('Blocked by: Gone (https://www.notion.so/Gone-2)'),
      },
      { blockedByIds: [expect.anything(), expect.anything()] },
    ],
  },
  'Azure DevOps, whose columns of titles show the level': {
    file: csv(
      'ID,Work Item Type,Title 1,Title 2,Assigned To,State,Priority',
      '1,Feature,Draw,,Jim <jim@example.com>,Active,1',
      '2,Task,,Cut,,Removed,4',
      '3,Feature,Oil,,,New,2',
    ),
    tasks: [
      {
        ...{ title: 'Draw', status: 'IN_PROGRESS', priority: 'HIGH' },
        subtasks: [{ title: 'Cut', completed: true }],
      },
      { title: 'Oil', status: 'TODO', priority: 'MEDIUM' },
    ],
  },
  'Microsoft Planner in German, below lines about the plan': {
    file: csv(
      'Planname;Werkstatt',
      'Plan-ID;x',
      'Aufgaben-ID;Aufgabenname;Bucketname;Status;Priorität;Zugewiesen an;Erstellt von;Abgeschlossen am;Prüflistenelemente;Bezeichnungen',
      'p;Ink;Halle;In Bearbeitung;Wichtig;Ada;Eve;;one;Rot',
      'q;Fold;Halle;;Niedrig;;Eve;15.11.2026;;',
    ),
    tasks: [
      {
        ...{
          externalId: 'csv:p',
          title: 'Ink',
          status: 'IN_PROGRESS',
          priority: 'HIGH',
          importedAuthor: 'Eve',
        },
        ...{ labels: expect.arrayContaining(['Rot', 'Halle']), subtasks: [{ title: 'one' }] },
      },
      { status: 'DONE', priority: 'LOW' },
    ],
  },
  'Microsoft Project': {
    file: csv('ID,Name,Predecessors,Resource Names', '1,Draw,,Ada (ada@example.com)', '2,Cut,1FS+2 days,'),
    tasks: [
      { description: 'Assignee: Ada <ada@example.com>' },
      { blockedByIds: [expect.anything()], description: null },
    ],
  },
  'an abandoned task of TickTick': {
    source: 'ticktick',
    file: csv('List Name,Title,Status,taskId', 'Inbox,Draw,-1,a'),
    tasks: [{ status: 'DONE', labels: expect.arrayContaining(['Abandoned', 'Inbox']) }],
  },
  'the order of day and month from the date of a change': {
    file: csv('Title,Due,Updated', 'Draw,11/3/2026,11/21/2026 10:00'),
    tasks: [{ dueDate: '2026-11-03T00:00:00.000Z' }],
  },
  'words and marks of spreadsheets': {
    file: csv('Tarea;Prio;Estado;Completada', 'Pintar;alta;läuft;☐', 'Lavar;--;;Sí', 'Cortar;;;✅'),
    tasks: [
      { priority: 'HIGH', status: 'IN_PROGRESS', description: null },
      { status: 'DONE', priority: 'MEDIUM', description: null },
      { status: 'DONE', fields: {} },
    ],
  },
  'dates that name no day': {
    file: csv('Title,Due', 'Draw,every monday', 'Oil,1.12.'),
    messages: ['it has no day, month and year', 'it has no year'],
  },
  'a time in an unknown time zone': {
    file: csv('Title,Due', 'Draw,2026-11-20 13:00 (XYZ)'),
    tasks: [{ dueDate: null, description: 'Due: 2026-11-20 13:00 (XYZ)' }],
    messages: ['The date "2026-11-20 13:00 (XYZ)" cannot be read: its time zone is not known'],
  },
}

test.each(Object.entries(cases))('reads %s', async (_, { source = 'csv', file, tasks, messages = [] }) => {
  const read = await importFile(source, file)
  expect(read.state).toBe('done')
  if (tasks) expect(read.tasks).toMatchObject(tasks)
  const report = read.messages.join('\n')
  for (const message of messages) expect(report).toContain(message)
  if (messages.length === 0) expect(report).not.toContain('cannot be read')
})

test('a JSON file without a board fails, and the error names what is missing', async () => {
  const included = { users: [], boards: [{ id: '2', name: 'B' }] }
  const { state, error } = await importFile('planka', { items: [{ id: '1', name: 'Engine' }], included })
  expect([state, error]).toEqual(['failed', expect.stringContaining('no included lists and cards')])
})

test('files of two sources with the same ids become separate tasks, and refer to tasks of their own source', async () => {
  const first = csv('ID,Title,Depends on', 'A-1,First,')
  const second = csv('ID,Title,Depends on', 'A-2,Second,A-1')
  const into = await newProject()
  for (const file of [first, second])
    for (const source of ['csv', 'linear']) {
      const { counts } = await importFile(source, file, { into })
      expect(counts).toMatchObject({ created: 1, updated: 0, rejected: 0 })
    }
  const { tasks } = await importFile('linear', second, { into })
  const numberOf = new Map(tasks.map(({ id, number }) => [id, number]))
  expect(
    tasks.map((one) => [one.externalId, (one.blockedByIds as string[]).map((id) => numberOf.get(id))]),
  ).toEqual([
    ['csv:A-1', []],
    ['linear:A-1', []],
    ['csv:A-2', [1]],
    ['linear:A-2', [2]],
  ])
})
