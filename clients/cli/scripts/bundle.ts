import { join } from 'node:path'

/** Bundles the command line with its libraries into one file for Node 20 and later, and returns the path of the file. */
export async function bundle(root: string, outdir: string): Promise<string> {
  const { outputs } = await Bun.build({
    entrypoints: [join(root, 'src/main.ts')],
    outdir,
    naming: 'docket.js',
    target: 'node',
    format: 'esm',
    banner: '#!/usr/bin/env node',
  })
  return outputs[0]!.path
}
