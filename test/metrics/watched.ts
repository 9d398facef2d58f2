import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { root } from '../kit.ts'

interface Panel {
  title: string
  targets?: { expr: string; legendFormat: string }[]
}

export const alerts = join(root, 'ops/alerts.yml')

export const dashboard = JSON.parse(readFileSync(join(root, 'ops/dashboard.json'), 'utf8')) as {
  panels: Panel[]
}

export const targets = dashboard.panels.flatMap(({ targets = [] }) => targets)
