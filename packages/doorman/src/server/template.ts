import type { Algorithm } from '@fairlead/core'

/** What a resource offers, and by which rule it is divided: an entry of the configuration. */
export interface ResourceTemplate {
  /** The name of a resource, or a glob for the names of many. */
  identifierGlob: string
  /** In the units of the resource. */
  capacity: number
  algorithm: Algorithm
  /** What a client may use when its lease has run out and nobody answers; capacity / clients when absent. */
  safeCapacity?: number
  description?: string
}

/** Templates in the order in which their globs are tried. The one for `*` must be there, and last. */
export interface ResourceRepository {
  resources: ResourceTemplate[]
}
