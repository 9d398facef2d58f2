import { dirname, join } from 'node:path'
import { pathToFileURL } from 'node:url'

const entry = new URL('../../src/main.ts', import.meta.url).pathname

/**
 * Bundles the service with its bytecode, and returns the setting with the path of the bundle. A process that runs the
 * bundle starts with a third of the CPU time.
 */
export async function bundleService(dataDir: string): Promise<Record<string, string>> {
  const outdir = join(dataDir, 'service')
  const options = { target: 'bun', format: 'cjs', bytecode: true } as const
  await Bun.build({ entrypoints: [entry], outdir, ...options, plugins: [{ name: 'original-paths', setup }] })
  return { TEST_MAIN_FILE: join(outdir, 'main.js') }
}

/** Modules in the bundle find their files and packages at their original paths. */
function setup(build: Bun.PluginBuilder): void {
  build.onLoad({ filter: /\.[cm]?[jt]s$/ }, async ({ path, loader }) => {
    const text = await Bun.file(path).text()
    if (!text.includes('import.meta')) return undefined
    const resolve = `((name) => Bun.pathToFileURL(Bun.resolveSync(name, ${JSON.stringify(dirname(path))})).href)`
    const contents = text
      .replaceAll('import.meta.url', JSON.stringify(pathToFileURL(path).href))
      .replaceAll('import.meta.resolve', resolve)
    return { contents, loader }
  })
}
