import { expect } from 'bun:test'
import type { Mirror } from '../../clients/typescript/src/feed/mirror.ts'
import { versionOf } from '../support/client.ts'
import { openClientScene } from './scene.ts'

export const byId = (rows: Map<string, unknown>) => Object.fromEntries(rows)

export async function openMirrorScene() {
  const scene = await openClientScene()
  const { ada, docket } = scene
  const rowsOf = async (projectId: string, asOf?: number) => {
    const tasks = await docket.tasks.list({ projectId, ...(asOf && { asOf }) }).all()
    return Object.fromEntries(tasks.map((task) => [task.id, task]))
  }
  return {
    ...{ ...scene, rowsOf },
    newProject: async () => (await docket.projects.create({ name: 'Engine' })).id,
    /** Waits until the mirror shows the current version of the project. */
    async expectEqual(mirror: Mirror, projectId: string): Promise<void> {
      await mirror.reach(await versionOf(ada, projectId))
      expect(byId(mirror)).toEqual(await rowsOf(projectId))
    },
  }
}
