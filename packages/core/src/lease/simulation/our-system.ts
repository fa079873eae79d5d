import { OurClient } from './our-client.js'
import { OurServer } from './our-server.js'
import type { System } from './system.js'

/** Our nodes and clients. */
export const ourSystem: System<OurServer> = {
  server: (world, job) => new OurServer(world, job),
  client: (world, job, name, wants) => new OurClient(world, job, name, wants),
}
