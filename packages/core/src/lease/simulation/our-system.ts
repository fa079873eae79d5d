import { OurClient } from './our-client.js'
import { OurServer, ours } from './our-server.js'
import { REFRESH_SECONDS, type System } from './system.js'

export interface OurSystemOptions {
  /** Of the root. @default that of the published simulation, 8 */
  refreshSeconds?: number
  /** Clients tell of a great change of their wants at once. @default false: at the next refresh, as the published ones */
  eager?: boolean
}

/** Our nodes, with clients in the manner of the published ones. */
export function ourSystem(options: OurSystemOptions = {}): System<OurServer> {
  const { refreshSeconds = REFRESH_SECONDS, eager = false } = options
  const repository = ours(refreshSeconds)
  return {
    server: (world, job) => new OurServer(world, job, repository),
    client: (world, job, name, wants) => new OurClient(world, job, name, wants, eager),
  }
}
