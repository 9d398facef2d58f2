import type { Mirror } from '../../clients/typescript/src/feed/mirror.ts'
import { versionOf } from '../kit.ts'
import { openClientScene } from './scene.ts'

export async function openMirrorScene() {
  const scene = await openClientScene()
  const { ada, docket } = scene
  const rowsOf = (projectId: string, asOf?: number) =>
    docket.tasks.list({ projectId, ...(asOf && { asOf }) }).all()
  return {
    ...{ ...scene, rowsOf },
    newProject: async () => (await docket.projects.create({ name: 'Engine' })).id,
    /** Waits until the mirror shows the current version of the project. */
    async expectEqual(mirror: Mirror, projectId: string): Promise<void> {
      await mirror.reach(await versionOf(ada, projectId))
      expect([...mirror.values()]).toEqual(await rowsOf(projectId))
    },
  }
}
