import { readFileSync } from 'node:fs'
import { blinded } from './blinding.ts'

// Loaded before the service, which knows nothing of it, to show that the checks can fail.
Bun.plugin({
  name: 'without-comparison',
  setup(build) {
    build.onLoad({ filter: /src\/commit\/statement\.ts$/ }, ({ path }) => ({
      loader: 'ts',
      contents: blinded(readFileSync(path, 'utf8')),
    }))
  },
})
