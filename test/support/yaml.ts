import { read } from '../architecture/source.ts'

/** Returns the content of a YAML file. @param path from the root of the project */
export const readYaml = <T>(path: string): T => Bun.YAML.parse(read(path).text) as T
