import type { Reader } from './reader.ts'
import { readAsanaCsv } from './csv-sources/asana-csv.ts'

export const readAsana: Reader = readAsanaCsv
