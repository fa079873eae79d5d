import type { Socket } from 'node:net'
import { type PeerCertificate, TLSSocket, type TlsOptions } from 'node:tls'
import { ChannelCredentials } from '@grpc/grpc-js'

/** PEM. */
type Pem = string | Buffer

/** A server's certificate, and the authority of its clients' certificates. */
export interface ServerTls {
  /** Certificate chain. */
  cert: Pem
  /** Private key. */
  key: Pem
  /**
   * Authority that signs clients: a client without its certificate is refused, except for probes of the status port.
   */
  clientCa?: Pem
}

/** A client's certificate, and the authority of its servers. */
export interface ClientTls {
  /** Authority that signs the servers. @default Node's own list */
  ca?: Pem
  /** Certificate chain of the client; needs `key`. */
  cert?: Pem
  /** Private key. */
  key?: Pem
}

export const SERVER_TLS: readonly string[] = ['cert', 'key', 'clientCa']
export const CLIENT_TLS: readonly string[] = ['ca', 'cert', 'key']

export function grpcClientCredentials(tls: ClientTls | undefined): ChannelCredentials {
  if (tls === undefined) return ChannelCredentials.createInsecure()
  const [ca, key, cert] = [tls.ca, tls.key, tls.cert].map((pem) => (pem === undefined ? null : Buffer.from(pem)))
  return ChannelCredentials.createSsl(ca!, key!, cert!)
}

/** Options of `https.createServer`. `optional`: accepts callers without a certificate, who then have no names. */
export function httpsServerOptions({ cert, key, clientCa }: ServerTls, optional: boolean): TlsOptions {
  if (clientCa === undefined) return { cert, key }
  return { cert, key, ca: clientCa, requestCert: true, rejectUnauthorized: !optional }
}

/** The names in the client's certificate, if our authority signed it. */
export function namesOf(socket: Socket): string[] {
  return socket instanceof TLSSocket && socket.authorized ? namesIn(socket.getPeerCertificate()) : []
}

/** Common name and DNS names. */
function namesIn(certificate: Partial<PeerCertificate> | undefined): string[] {
  const { subject, subjectaltname = '' } = certificate ?? {}
  const alternatives = subjectaltname.split(', ').flatMap((each) => (each.startsWith('DNS:') ? [each.slice(4)] : []))
  const common = [subject?.CN ?? []].flat()
  return [...common, ...alternatives]
}
