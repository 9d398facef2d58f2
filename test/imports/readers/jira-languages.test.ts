import { expect, test } from 'bun:test'
import { statusOf } from '../../../modules/imports/convert/names.ts'
import { readers } from '../../../modules/imports/sources.ts'
import { reading } from './reading.ts'

test.each([
  [
    'Resumen,Clave de incidencia,ID de la incidencia,Tipo de Incidencia,Estado,Creada,Principal,Categoría de estado',
    'Subtarea',
    'Por hacer',
    '04/dic/25 10:57 AM',
  ],
  [
    'Zusammenfassung,Vorgangsschlüssel,Vorgangs-ID,Vorgangstyp,Status,Erstellt,Übergeordnet,Statuskategorie',
    'Unteraufgabe',
    'Zu erledigen',
    '04.12.2025 10:57',
  ],
  [
    'Resumo,Chave da item,ID da item,Tipo de item,Status,Criado,Pai,Categoria do status',
    'Subtarefa',
    'Itens Pendentes',
    '04/dez/25 10:57 AM',
  ],
  [
    'Podsumowanie,Klucz zgłoszenia,Id. zgłoszenia,Typ zgłoszenia,Status,Utworzono,Element nadrzędny,Status Category',
    'Podzadanie',
    'To Do',
    '04.12.2025 10:57',
  ],
  [
    'Resumen,Clave de incidencia,Identificador de la incidencia,Tipo de Incidencia,Estado,Creada,ID del padre,Categoría de estado',
    'Subtarea',
    'Por hacer',
    '04/dic/25 10:57 AM',
  ],
  [
    'Résumé,Clé de ticket,ID de ticket,Type de ticket,État,Création,ID du ticket parent,Catégorie de statut',
    'Sous-tâche',
    'À faire',
    '04/déc./25 10:57 AM',
  ],
  [
    'Resumo,Chave da item,ID da item,Tipo de item,Status,Criado,ID do item pai,Categoria do status',
    'Subtarefa',
    'Itens Pendentes',
    '04/dez/25 10:57 AM',
  ],
  [
    'Podsumowanie,Klucz zgłoszenia,Identyfikator zgłoszenia,Typ zgłoszenia,Status,Utworzono,Identyfikator nadrzędny,Status Category',
    'Podzadanie',
    'To Do',
    '04.12.2025 10:57',
  ],
])('reads issues of Jira below the header %s', async (header, type, category, time) => {
  const file = `${header}\na,M-1,1,Epic,x,${time},,${category}\nb,M-2,2,${type},x,${time},1,${category}\n`
  for (const form of ['NFC', 'NFD'])
    expect((await reading(readers.jira!, file.normalize(form))).items.slice(-1)).toMatchObject([
      {
        ...{ title: 'b', key: 'M-2', parent: 'M-1', list: 'x', status: 'TODO' },
        createdAt: '2025-12-04T10:57:00.000Z',
      },
    ])
})

test('proposes IN_PROGRESS for the status In Review', () => {
  expect(statusOf('In Review', {})).toBe('IN_PROGRESS')
})

test.each([
  ['Resumen,Clave de incidencia,Estado,Prioridad', 'Tareas por hacer', 'En curso', 'Finalizada', 'Alta'],
  ['Zusammenfassung,Vorgangsschlüssel,Status,Priorität', 'Zu erledigen', 'In Arbeit', 'Fertig', 'Hoch'],
  ['Podsumowanie,Klucz zgłoszenia,Status,Priority', 'Do zrobienia', 'W toku', 'Gotowe', 'High'],
])('proposes statuses for the names of Jira below the header %s', async (header, open, begun, done, high) => {
  const rows = [open, begun, done].map((status, n) => `Task,M-${n},${status},${high}`)
  const { items } = await reading(readers.jira!, [header, ...rows].join('\n'))
  const tasks = items.filter(({ kind }) => kind === 'task')
  expect(tasks).toMatchObject(Array(3).fill({ priority: 'HIGH' }))
  expect([open, begun, done].map((name) => statusOf(name, {}))).toEqual(['TODO', 'IN_PROGRESS', 'DONE'])
})
