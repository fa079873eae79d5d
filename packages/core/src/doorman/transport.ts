import { requireFunction, show } from '../options.js'
import type { CapacityService } from './protocol.js'

/** Where a client finds its servers. */
export interface Transport {
  /**
   * The server at `address`, which another one named as the master; without it, the one to begin with, or the next of
   * several to try. May throw: that is as no answer. Nothing needs to be closed.
   */
  connect(address?: string): CapacityService
}

const METHODS = ['discovery', 'getCapacity', 'getServerCapacity', 'releaseCapacity'] as const

/**
 * Servers in the same process: one node, or a function that finds the node of an address (called without one for the
 * node to begin with).
 */
export function inProcess(nodes: CapacityService | ((address?: string) => CapacityService)): Transport {
  if (typeof nodes === 'function') return { connect: nodes }
  if (typeof nodes !== 'object' || nodes === null)
    throw new TypeError(`nodes must be a server node or a function that finds one, got ${show(nodes)}`)
  for (const method of METHODS) requireFunction(`nodes.${method}`, nodes[method])
  // Whatever address it gives out, with one node there is nobody else to go to.
  return { connect: () => nodes }
}
