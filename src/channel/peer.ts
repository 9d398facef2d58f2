/** Another process, as the directory names it. */
export interface Peer {
  id: string
  host: string
  port: number
}
