import { fileURLToPath } from 'node:url'
import protobuf, { type Type } from 'protobufjs'

const root = protobuf.loadSync(fileURLToPath(import.meta.resolve('@fairlead/doorman/doorman.proto')))

/** The messages of GetCapacity. */
export const WIRE_REQUEST: Type = root.lookupType('doorman.GetCapacityRequest')
export const WIRE_RESPONSE: Type = root.lookupType('doorman.GetCapacityResponse')
