import { networkInterfaces } from 'node:os'

const everywhere = ['0.0.0.0', '::']

/** Where others reach what listens at `host`: on every address of this machine, that is the first not its own alone. */
export function ownAddress(host: string): string {
  if (!everywhere.includes(host)) return host
  const addresses = Object.values(networkInterfaces()).flatMap((one) => one ?? [])
  const outside = addresses.filter(({ internal }) => !internal)
  return (outside.find(({ family }) => family === 'IPv4') ?? outside[0])?.address ?? '127.0.0.1'
}
