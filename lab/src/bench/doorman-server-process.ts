/**
 * A server of the benchmark in a process of its own: `doorman`, or `stub`, which measures gRPC alone: it neither reads
 * the request nor builds an answer.
 */
import { startDoorman } from '@fairlead/doorman'
import { Server, ServerCredentials } from '@grpc/grpc-js'
import { WIRE_RESPONSE } from './doorman-wire.js'
import type { Usage } from './http/serve.js'

/** Each of the `clients` has 20 and wants more. */
async function doorman(clients: number): Promise<number> {
  const algorithm = { kind: 'FAIR_SHARE' as const, leaseLength: 600, refreshInterval: 16, parameters: [] }
  const config = { resources: [{ identifierGlob: '*', capacity: 20 * clients, algorithm }] }
  // Each client returns immediately and still gets an answer.
  const { address } = await startDoorman({
    config,
    host: '127.0.0.1',
    hostname: '127.0.0.1',
    minimumRefreshMs: 0,
    fresh: true,
  })
  return Number(address.split(':')[1])
}

function stub(): Promise<number> {
  const gets = { expiryTime: 4_102_444_800, refreshInterval: 16, capacity: 20 }
  const constant = WIRE_RESPONSE.encode({ response: [{ resourceId: 'r', gets, safeCapacity: 20 }] }).finish()
  const raw = (value: Uint8Array): Buffer => Buffer.from(value.buffer, value.byteOffset, value.length)
  const server = new Server()
  server.addService(
    {
      getCapacity: {
        path: '/doorman.Capacity/GetCapacity',
        requestStream: false,
        responseStream: false,
        requestSerialize: raw,
        requestDeserialize: raw,
        responseSerialize: raw,
        responseDeserialize: raw,
      },
    },
    { getCapacity: (_call: unknown, callback: (error: null, answer: Uint8Array) => void) => callback(null, constant) },
  )
  return new Promise((resolve, reject) => {
    server.bindAsync('127.0.0.1:0', ServerCredentials.createInsecure(), (error, port) =>
      error === null ? resolve(port) : reject(error),
    )
  })
}

const [, , kind, clients] = process.argv
const port = await (kind === 'stub' ? stub() : doorman(Number(clients)))
process.on('message', () => {
  const { user, system } = process.cpuUsage()
  process.send?.({ cpuUs: user + system } satisfies Usage)
})
process.on('disconnect', () => process.exit())
process.send?.({ port })
