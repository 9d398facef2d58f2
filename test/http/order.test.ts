import { expect, test } from 'bun:test'
import { type Body, make } from '../support/client.ts'
import { openScene } from '../support/scene.ts'
import { allPages } from './list-pages.ts'

const { ada } = await openScene(['Ada'])

async function openOrder(titles: string) {
  const { id: projectId } = await make(ada, '/projects', { name: 'Board' })
  const tasks: Record<string, Body> = {}
  for (const title of titles) tasks[title] = await make(ada, '/tasks', { title, projectId })
  const at = (title: string) => tasks[title]!.id
  const order = async (query = '', limit = 2) => {
    const pages = await allPages(ada, `/tasks?projectId=${projectId}&sort=position&limit=${limit}${query}`)
    return pages
      .flat()
      .map(({ title }) => title)
      .join('')
  }
  const put = (title: string, place: object) => ada.patch(`/tasks/${at(title)}`, place)
  return { at, order, put }
}

test('tasks are in the order of creation until a client places them', async () => {
  const { at, order, put } = await openOrder('abcd')
  expect(await order()).toBe('abcd')
  const steps: [title: string, place: object, order: string][] = [
    ['c', { before: at('a') }, 'cabd'],
    ['a', { after: at('b') }, 'cbad'],
    ['d', { place: 'first' }, 'dcba'],
    ['d', { place: 'last' }, 'cbad'],
    ['c', { place: 'last' }, 'badc'],
    ['b', { before: at('c') }, 'adbc'],
    ['a', { after: at('c') }, 'dbca'],
  ]
  for (const [title, place, after] of steps) {
    expect((await put(title, place)).status).toBe(200)
    expect([place, await order()]).toEqual([place, after])
  }
})
