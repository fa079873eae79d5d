import type { Gate } from '@fairlead/core'
import { type Attributes, context, createContextKey, type Span, trace } from '@opentelemetry/api'

/** The key under which instrumentations of HTTP servers store their span, for frameworks to find. */
const RPC_METADATA = createContextKey('OpenTelemetry SDK Context Key RPC_METADATA')

/** The parts of a refusal's detail that are recorded on spans, with their attribute names. */
const DETAILS = {
  credit: 'fairlead.credit',
  fairRatePerSecond: 'fairlead.fair_rate',
  probability: 'fairlead.probability',
}

/** Records each decision on the span of its request. Returns a function that stops this. */
export function tellSpans(
  gate: Gate,
  name: string,
  flowOf: ((flow: string) => string | undefined) | undefined,
): () => void {
  return gate.observe((event) => {
    if (event.type !== 'admitted' && event.type !== 'refused') return
    const span = serverSpan()
    if (span?.isRecording() !== true) return
    const attributes: Attributes = { 'fairlead.gate': name, 'fairlead.result': event.type }
    if (event.type === 'admitted') attributes['fairlead.waited_ms'] = event.waitedMs
    else {
      const { stage, reason, detail } = event.refusal
      attributes['fairlead.stage'] = stage
      attributes['fairlead.reason'] = reason
      for (const [key, attribute] of Object.entries(DETAILS)) {
        const value = detail[key]
        if (typeof value === 'number' && Number.isFinite(value)) attributes[attribute] = value
      }
    }
    span.setAttributes(attributes)
    // Last: its error counts as a listener's error, and the span already has the rest.
    const flow = flowOf?.(event.flow)
    if (flow !== undefined) span.setAttribute('fairlead.flow', flow)
  })
}

/** The server's own span, even if a framework's span for a middleware is active. */
function serverSpan(): Span | undefined {
  const metadata = context.active().getValue(RPC_METADATA)
  if (isMetadata(metadata)) return metadata.span
  return trace.getActiveSpan()
}

function isMetadata(value: unknown): value is { readonly span: Span } {
  return typeof value === 'object' && value !== null && 'span' in value && typeof value.span === 'object'
}
