import { endStep } from '../run/progress.ts'
import type { Run } from '../run/run.ts'

export const importLinks = (run: Run): Promise<void> => endStep(run, 'links')
