import { read } from '../architecture/source.ts'

interface Service {
  environment: Record<string, string | number>
  ports?: string[]
  volumes?: string[]
}

const { services } = Bun.YAML.parse(read('docker-compose.yml').text) as { services: Record<string, Service> }

/** The services of docker-compose.yml. */
export const composed = services as Record<'proxy' | 'web' | 'worker', Service>
