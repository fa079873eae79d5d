import { OurClient } from './our-client.js'
import { OurServer, ours } from './our-server.js'
import { RealClient } from './real-client.js'
import { REFRESH_SECONDS, type System } from './system.js'

export interface OurSystemOptions {
  /** Of the root. @default that of the published simulation, 8 */
  refreshSeconds?: number
  /** Clients report a large change of their wants immediately, not at the next refresh. @default false, as published */
  eager?: boolean
}

/** Our nodes, with clients that behave like the published ones. */
export function ourSystem(options: OurSystemOptions = {}): System<OurServer> {
  const { refreshSeconds = REFRESH_SECONDS, eager = false } = options
  const repository = ours(refreshSeconds)
  return {
    server: (world, job, task) => new OurServer(world, job, task, repository),
    client: (world, job, name, wants) => new OurClient(world, job, name, wants, eager),
  }
}

/** Our nodes, with the clients of the package. Their promises have to settle after each event. */
export function realSystem(): System<OurServer> {
  const { server } = ourSystem()
  return { server, client: (world, job, name, wants) => new RealClient(world, job, name, wants) }
}
