import { read } from '../kit.ts'

interface Service {
  image: string
  build?: string
  command?: string
  environment: Record<string, string | number>
  ports?: string[]
  volumes?: string[]
}

export const composition = read('docker-compose.yml').text

const parsed = Bun.YAML.parse(composition) as {
  services: Record<string, Service>
  configs: Record<string, { content: string }>
}

export const { configs } = parsed

export const composed = parsed.services as Record<'proxy' | 'web' | 'worker' | 'redis', Service>
