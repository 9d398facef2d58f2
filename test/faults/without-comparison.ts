import { readFileSync } from 'node:fs'
import { withoutComparisons } from './remove-comparisons.ts'

// Preloaded by the service, so that its commits lose updates, which the checks must report.
Bun.plugin({
  name: 'without-comparison',
  setup(build) {
    build.onLoad({ filter: /src\/commit\/statement\.ts$/ }, ({ path }) => ({
      loader: 'ts',
      contents: withoutComparisons(readFileSync(path, 'utf8')),
    }))
  },
})
