import { readFileSync } from 'node:fs'
import { withoutComparisons } from './remove-comparisons.ts'

// Preloaded into the service to show that the checks find violations.
Bun.plugin({
  name: 'without-comparison',
  setup(build) {
    build.onLoad({ filter: /src\/commit\/statement\.ts$/ }, ({ path }) => ({
      loader: 'ts',
      contents: withoutComparisons(readFileSync(path, 'utf8')),
    }))
  },
})
