import { CapacityError, type CapacityService, type DoormanFleet, type Transport } from '@fairlead/core/doorman'
import { requireOptions, requireText } from '@fairlead/core/http'
import { fleetBy } from '@fairlead/core/internal'
import {
  type CallOptions,
  type ChannelCredentials,
  type ChannelOptions,
  Client,
  credentials as channelCredentials,
  connectivityState,
  Metadata,
  type MethodDefinition,
  status,
} from '@grpc/grpc-js'
import { requireAddresses } from '../options.js'
import { codeOf, METHODS } from './wire.js'

/** Options of {@link overGrpc}. */
export interface GrpcTransportOptions {
  /** `host:port`, or several: the next is tried when one does not answer. */
  address: string | readonly string[]
  /** For TLS: the result of `credentials.createSsl(ca)` of grpc-js. @default plain text */
  credentials?: ChannelCredentials
  /** Sent with each call, as `authorization: Bearer …`. @default none */
  token?: string
}

/** Servers over gRPC. */
export interface GrpcTransport extends Transport {
  /** Ends all connections; calls in flight may still end. An idle open connection does not keep a process alive. */
  close(): void
}

const CHANNEL: ChannelOptions = {
  'grpc.enable_channelz': 0,
  // A dead connection is replaced; the new one must not share its channel.
  'grpc.use_local_subchannel_pool': 1,
  // The client has its own back-off; when it retries, the channel must, too.
  'grpc.initial_reconnect_backoff_ms': 500,
  'grpc.max_reconnect_backoff_ms': 1_000,
}

/**
 * Servers over gRPC: one connection to each address in use. A call ends when the caller's signal fires, so the client's
 * `deadlineMs` bounds it; a connection without an answer is then abandoned, because a cut network reports nothing.
 *
 * @throws RangeError, TypeError that names an invalid option
 */
export function overGrpc(options: GrpcTransportOptions): GrpcTransport {
  const { connect, close } = grpcCalls(options)
  return {
    connect(to): CapacityService {
      const call = connect(to)
      const { discovery, getCapacity, getServerCapacity, releaseCapacity } = METHODS
      return {
        discovery: (request, signal) => call(discovery, request, signal),
        getCapacity: (request, signal) => call(getCapacity, request, signal),
        getServerCapacity: (request, signal) => call(getServerCapacity, request, signal),
        releaseCapacity: (request, signal) => call(releaseCapacity, request, signal),
      }
    },
    close,
  }
}

/**
 * Lets the processes of a fleet share FAIR's clock through a Doorman server over gRPC, as `doormanFleet` of
 * `@fairlead/core/doorman` does over HTTP: for `createGate({ name, fleet })`.
 *
 * @throws RangeError, TypeError for an option that is wrong, by its name
 */
export function fleetOverGrpc(options: GrpcTransportOptions): DoormanFleet {
  const { connect, close } = grpcCalls(options)
  const fleet = fleetBy((to) => {
    const call = connect(to)
    return (report, signal) => call(METHODS.report, report, signal)
  })
  return {
    ...fleet,
    close() {
      fleet.close()
      close()
    },
  }
}

/** Calls a method of one server. */
type Call = <Q, A>(method: MethodDefinition<Q | CapacityError, A>, request: Q, signal?: AbortSignal) => Promise<A>

interface GrpcCalls {
  connect(address?: string): Call
  close(): void
}

function grpcCalls(options: GrpcTransportOptions): GrpcCalls {
  requireOptions('grpc', options, ['address', 'credentials', 'token'])
  const { credentials = channelCredentials.createInsecure(), token } = options
  if (token !== undefined) requireText('token', token)
  const addresses = requireAddresses('address', options.address)
  const channels = new Map<string, Client>()
  let next = 0

  function channelTo(address: string): Client {
    const present = channels.get(address)
    if (present !== undefined) return present
    const channel = new Client(address, credentials, CHANNEL)
    channels.set(address, channel)
    return channel
  }

  function give(address: string, channel: Client): void {
    if (channels.get(address) === channel) channels.delete(address)
    channel.close()
  }

  function call<Q, A>(
    address: string,
    method: MethodDefinition<Q | CapacityError, A>,
    request: Q,
    signal?: AbortSignal,
  ): Promise<A> {
    const { path, requestSerialize, responseDeserialize } = method
    return new Promise((resolve, reject) => {
      const channel = channelTo(address)
      const options: CallOptions = {}
      const metadata = new Metadata()
      if (token !== undefined) metadata.set('authorization', `Bearer ${token}`)
      const call = channel.makeUnaryRequest(
        path,
        requestSerialize,
        responseDeserialize,
        request,
        metadata,
        options,
        (error, answer) => {
          signal?.removeEventListener('abort', abandon)
          if (error === null && answer !== undefined) resolve(answer)
          else reject(failure(address, error?.code ?? status.UNKNOWN, error?.details ?? 'no answer', error))
        },
      )
      function abandon(): void {
        call.cancel()
        // A connection that is still being made continues, and the next call uses it: abandoning each one would mean
        // waiting for its end.
        if (channel.getChannel().getConnectivityState(false) === connectivityState.READY) give(address, channel)
      }
      if (signal?.aborted) abandon()
      else signal?.addEventListener('abort', abandon, { once: true })
    })
  }

  return {
    connect:
      (address = addresses[next++ % addresses.length]!) =>
      (method, request, signal) =>
        call(address, method, request, signal),
    close() {
      for (const [address, channel] of [...channels]) give(address, channel)
    },
  }
}

function failure(address: string, code: status, details: string, cause: unknown): CapacityError {
  return new CapacityError(codeOf(code), `${details} (from ${address})`, { cause })
}
